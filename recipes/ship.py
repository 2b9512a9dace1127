"""Make the model of a run ready to ship: float16 weights, and models converted to int8 for CTranslate2 beside them.

    python recipes/ship.py runs/tatoeba-en-de pellucid/models/en-de

The card (README.md) of the target directory is kept if there is one: its words are written by hand. Choose the
alignment heads afterwards, which converts the models once more: see recipes/align.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from pellucid.decode.engines.ctranslate2.convert import convert
from pellucid.model_directory import ModelDirectory
from pellucid.nn import Transformer


def ship(run: Path, target: Path) -> None:
    model = ModelDirectory.find(run)
    card = ModelDirectory(target).card or model.card
    weights = Transformer.load(model).arrays(torch.float16)
    shipped = ModelDirectory.save(target, model.config, weights, model.metadata, card)
    for language in (None, *shipped.restriction.ids):
        convert(shipped, shipped.converted(language), "int8", language)
    print(f"{target}: {shipped.facts()['bytes'] / 1e6:.1f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run or model directory")
    parser.add_argument("target", type=Path, help="the model directory to write")
    arguments = parser.parse_args()
    ship(arguments.run, arguments.target)
