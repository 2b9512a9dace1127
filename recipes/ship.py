"""Make the model of a run ready to ship: float16 weights, and CTranslate2's int8 forms beside them.

    python recipes/ship.py runs/tatoeba-en-de pellucid/models/en-de

The card (README.md) of the target directory is kept if there is one: its words are written by hand.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch

from pellucid.decode.engines.convert import convert
from pellucid.decode.models import find_model
from pellucid.nn import Transformer
from pellucid.text.target_tokens import FILE as TARGET_TOKENS
from pellucid.text.target_tokens import TargetTokens
from pellucid.text.tokenizer import Tokenizers


def ship(run: Path, target: Path) -> None:
    model = find_model(run)
    Transformer.load(model).save(target, dtype=torch.float16)
    (target / TARGET_TOKENS).unlink(missing_ok=True)  # an earlier model's
    for path in model.iterdir():
        if path.suffix == ".json" and path.name != "config.json":
            shutil.copyfile(path, target / path.name)
    if not (target / "README.md").exists():
        shutil.copyfile(model / "README.md", target / "README.md")
    shutil.rmtree(target / "ctranslate2", ignore_errors=True)
    convert(target, target / "ctranslate2", "int8")
    for language in TargetTokens.load(target, Tokenizers.load(target)).ids:
        convert(target, target / "ctranslate2" / language, "int8", language)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run or model directory")
    parser.add_argument("target", type=Path, help="the model directory to write")
    arguments = parser.parse_args()
    ship(arguments.run, arguments.target)
