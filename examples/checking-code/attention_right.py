"""Attention, plain and masked, with every property."""

import numpy as np


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(Q.shape[-1])) @ V


def masked_attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    past = np.tri(len(Q), dtype=bool)
    return softmax(np.where(past, scores, -np.inf)) @ V
