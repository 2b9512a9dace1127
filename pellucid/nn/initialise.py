"""The initialisation of all weights, in one place.

| weight                                   | drawn from                                             |
|------------------------------------------|--------------------------------------------------------|
| embeddings                               | normal, sd d_model^-0.5: scaled by sqrt(d_model), sd 1 |
| learned positions                        | normal, sd 0.02                                        |
| matrices of attention, feed-forward, output | uniform, Xavier: variance 2 / (in + out)            |
| biases                                   | 0                                                      |
| norms                                    | weight 1, bias 0                                       |
"""

from __future__ import annotations

import torch
from torch import nn


def initialise(model: nn.Module, d_model: int, seed: int) -> None:
    """Draw every parameter; equal seeds give equal models."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name.endswith("embedding.weight"):
            nn.init.normal_(parameter, std=d_model**-0.5, generator=generator)
        elif name.endswith("positions.weight"):
            nn.init.normal_(parameter, std=0.02, generator=generator)
        elif name.endswith("norm.weight"):
            nn.init.ones_(parameter)
        elif name.endswith(".bias"):
            nn.init.zeros_(parameter)
        else:
            nn.init.xavier_uniform_(parameter, generator=generator)
