from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch

from pellucid import reference
from pellucid.nn.positions import Rotation, angles, sinusoidal

Layout = Literal["interleaved", "halves"]
LAYOUTS: tuple[Layout, ...] = ("interleaved", "halves")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("start", [0, 3, 900])
def test_any_stretch_of_positions_is_cut_from_the_same_table(layout: Layout, start: int) -> None:
    expected = reference.sinusoidal(start + 5, 12, layout)[start:]
    np.testing.assert_allclose(sinusoidal(start, start + 5, 12, layout), expected, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("start", [0, 7])
def test_rotation_is_that_of_the_reference(layout: Layout, start: int) -> None:
    x = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    turned = Rotation.of(angles(start, start + 4, 6), layout, x).turn(x)
    np.testing.assert_allclose(turned, reference.rotate(x.numpy(), np.arange(start, start + 4), layout), atol=1e-13)


def test_rotation_multiplies_complex_numbers() -> None:
    """The other way to write it: features 2i, 2i + 1 are one complex number, turned by e^(i angle)."""
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    numbers = torch.view_as_complex(x.view(4, 3, 2))
    angle = torch.arange(4.0, dtype=torch.float64)[:, None] * 10000.0 ** -(torch.arange(3.0, dtype=torch.float64) / 3)
    expected = torch.view_as_real(numbers * torch.polar(torch.ones_like(angle), angle)).flatten(-2)
    np.testing.assert_allclose(Rotation.of(angles(0, 4, 6), "interleaved", x).turn(x), expected, atol=1e-14)
