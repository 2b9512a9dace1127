"""Changes to a model of the product while it stays the product's: its parts see, or hand on, something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.nn import Transformer


def remove_mask(model: Transformer) -> None:
    """Every position of the target sees the whole target, the future included."""

    def see_all(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x, real, keep, *rest = inputs
        return (x, real, torch.ones_like(keep), *rest)

    for layer in model.decoder.layers:
        layer.register_forward_pre_hook(see_all)


@contextmanager
def changed_input(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, the module reads `change(x)` instead of x."""
    handle = module.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]), *inputs[1:]))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def removed_head(model: Transformer, part: str, layer: int, head: int) -> Iterator[None]:
    """Inside, one head contributes nothing. `part` is an attention, such as encoder.self_attention."""
    stack, sublayer = part.split(".")
    attention = getattr(getattr(model, stack).layers[layer], sublayer)
    size = model.config.d_head

    def without(heads: Tensor) -> Tensor:
        """(..., d_model): the heads side by side, before they are projected."""
        heads = heads.clone()
        heads[..., head * size : (head + 1) * size] = 0.0
        return heads

    with changed_input(attention.output, without):
        yield


@contextmanager
def changed_output(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, the module hands on `change(y)` instead of y."""
    handle = module.register_forward_hook(lambda _module, _inputs, output: change(output))
    try:
        yield
    finally:
        handle.remove()
