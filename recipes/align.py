"""Choose the heads by which a model aligns words, and write them into its directory (`alignment.json`).

    python recipes/align.py runs/mine/model --source valid.en.gz --target valid.de.gz --from en --to de

The pairs should be some the model did not learn from; of each direction that the model translates, 500 are used. They
are divided: heads are chosen on one half, and their accuracy is printed for both. The converted models of the
directory are made anew, because CTranslate2 reports the attention of these heads.
"""

from __future__ import annotations

import argparse
import shutil
from itertools import islice
from pathlib import Path

from pellucid.decode.engines.ctranslate2.convert import convert
from pellucid.evaluation.alignment import accuracy, choose, known_pairs, weigh
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.checksums import write_checksums
from pellucid.text.languages import Languages
from pellucid.text.readers.files import opened

PAIRS = 500
LEARNED_FROM = 40_000


def align(path: Path, sides: tuple[Path, Path], direction: Languages) -> None:
    directory = ModelDirectory.find(path)
    pairs = read(sides)
    weights = []
    for reverse in (False, True):
        source, target = direction[::-1] if reverse else direction
        if (reverse and source is None) or (source and (source, target) not in directory.languages.directions):
            continue
        turned = [pair[::-1] for pair in pairs] if reverse else pairs
        weights += weigh(directory, known_pairs(turned)[:PAIRS], (source, target))
    chosen, found = choose(directory, weights[::2])
    links = sum(len(each.links) for each in weights)
    print(f"{chosen}: right in {found:.1%} of the links they were chosen on, {accuracy(weights[1::2], chosen):.1%} of")
    print(f"the others ({links:,} links in {len(weights):,} pairs)")
    chosen.save(directory.path)
    write_checksums(directory.path)
    if directory.converted().is_dir():
        convert_shipped(ModelDirectory(directory.path))


def convert_shipped(directory: ModelDirectory) -> None:
    """Write the converted models that ship in a model directory, in place of older ones."""
    if directory.converted().is_dir():
        shutil.rmtree(directory.converted())
    for language in (None, *directory.restriction.ids):
        convert(directory, directory.converted(language), "int8", language)


def read(sides: tuple[Path, Path]) -> list[tuple[str, str]]:
    with opened(sides[0]) as source, opened(sides[1]) as target:
        lines = islice(zip(source, target, strict=False), LEARNED_FROM)
        return [(left.decode().strip(), right.decode().strip()) for left, right in lines]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model directory")
    parser.add_argument("--source", type=Path, required=True, help="source texts, one per line; .gz and .xz too")
    parser.add_argument("--target", type=Path, required=True, help="their translations, line by line")
    parser.add_argument("--from", dest="source_language", help="language code of the source texts")
    parser.add_argument("--to", dest="target_language", help="language code of the target texts")
    given = parser.parse_args()
    align(given.model, (given.source, given.target), (given.source_language, given.target_language))
