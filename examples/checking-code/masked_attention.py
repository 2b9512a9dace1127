"""Masked attention: the line that computes the output is struck out."""

import numpy as np


def masked_attention(Q, K, V):
    d_k = Q.shape[-1]
    scores = Q @ K.T / np.sqrt(d_k)
    future = np.triu(np.ones(scores.shape), k=1) == 1
    scores = np.where(future, -np.inf, scores)
    exponentials = np.exp(scores)
    weights = exponentials / np.sum(exponentials, axis=1, keepdims=True)
    # output = weights @ V
    return output
