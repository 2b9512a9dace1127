from __future__ import annotations

import numpy as np
import pytest

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.text.ids import check_ids, check_length

CONFIG = ModelConfig(vocabulary=9, d_model=8, heads=2, feed_forward=8, encoder_layers=1, decoder_layers=1)


def test_ids() -> None:
    check_ids("source", np.array([[0, 8]]), 9)
    for bad in (-1, 9):
        with pytest.raises(UserError, match=f"source ids: id {bad} is outside the vocabulary of 9"):
            check_ids("source", np.array([[3, bad]]), 9)
    for empty in (np.zeros((0, 3), int), np.zeros((2, 0), int), np.zeros(3, int)):
        with pytest.raises(UserError, match="target ids: an empty batch or a wrong shape"):
            check_ids("target", empty, 9)


def test_length_matters_to_a_learned_table_alone() -> None:
    learned = CONFIG.changed(positions="learned", max_length=4)
    check_length(4, learned)
    with pytest.raises(UserError, match="5 tokens, but the learned positions end at 4"):
        check_length(5, learned)
    check_length(10**6, CONFIG)
