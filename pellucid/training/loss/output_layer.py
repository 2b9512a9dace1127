"""The output layer as the losses use it: the logits of a chunk of tokens at a time, and their gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from pellucid.nn.mixed_precision import padded_rows


class OutputLayer:
    """z = features W^T + b. `backward` sums the gradients of W (vocabulary, d_model) and b (vocabulary,)."""

    def __init__(self, weight: Tensor, bias: Tensor | None, product_dtype: torch.dtype, with_gradients: bool) -> None:
        self.dtype, self.bias = weight.dtype, bias
        self.weight = weight.to(product_dtype)
        self.grad_weight = torch.zeros_like(weight) if with_gradients else None
        self.grad_bias = torch.zeros_like(bias) if with_gradients and bias is not None else None

    def logits(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(tokens, d_model) -> logits (tokens, vocabulary), and the rows that `backward` takes."""
        rows = padded_rows(features, self.weight.dtype)  # (rows, d_model)
        z = (rows @ self.weight.T)[: len(features)].to(self.dtype)
        if self.bias is not None:
            z += self.bias
        return z, rows

    def backward(self, grad_z: Tensor, rows: Tensor) -> Tensor:
        """The gradient of the logits (tokens, vocabulary) -> that of the features (tokens, d_model)."""
        if self.grad_bias is not None:
            self.grad_bias += grad_z.sum(dim=0)
        grad_rows = padded_rows(grad_z, self.weight.dtype)  # (rows, vocabulary)
        if self.grad_weight is not None:
            if rows.dtype == self.dtype:
                self.grad_weight.addmm_(grad_rows.T, rows)
            else:
                self.grad_weight += grad_rows.T @ rows
        return (grad_rows @ self.weight)[: len(grad_z)]
