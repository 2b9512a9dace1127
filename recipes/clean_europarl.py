"""Choose pairs of Europarl in which both sides are in their language, are of like length, and have the same digits.

    python recipes/clean_europarl.py data/europarl-en-de/large data/europarl-en-de/clean --pairs 60000

reads large.en.gz and large.de.gz and writes clean.en.gz and clean.de.gz: random pairs of the good ones. The first 1,000
good ones go to clean.valid.en.gz and clean.valid.de.gz.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from pellucid.model_directory import ModelDirectory
from pellucid.text.language_identifier import LanguageIdentifier

VALID = 1000
WORDS = 45  # at most on a side
RATIO = (0.5, 1.7)  # of the English characters to the German ones
SAME = 0.4  # of the words of the shorter side: more are the same in pairs that are not translated
CERTAIN = 0.9  # the least probability of the language


def fault(english: str, german: str, languages: LanguageIdentifier) -> str:
    """Why a pair is left out; empty: it is good."""
    sides = english.split(), german.split()
    if not all(sides):
        return "empty"
    if max(map(len, sides)) > WORDS:
        return "long"
    if len(sides[0]) >= 3 and not RATIO[0] < len(english) / len(german) < RATIO[1]:
        return "unlike lengths"
    words = [{word.strip(".,").lower() for word in side} for side in sides]
    if len(sides[0]) > 3 and len(words[0] & words[1]) > SAME * min(map(len, words)):
        return "same words"
    for text, language in ((english, "en"), (german, "de")):
        found, probability = languages.detect(text)[0]
        if found != language or probability < CERTAIN:
            return f"not {language}"
    if _digits(english) != _digits(german):
        return "other digits"
    return ""


def _digits(text: str) -> Counter[str]:
    return Counter(filter(str.isdigit, text))


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.strip() for line in file]


def write(path: Path, pairs: Sequence[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "de")):
        with gzip.open(path.with_name(f"{path.name}.{language}.gz"), "wt", encoding="utf-8") as file:
            file.writelines(f"{pair[side]}\n" for pair in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("given", type=Path, help="the files to read, without .en.gz and .de.gz")
    parser.add_argument("out", type=Path, help="the files to write, without .en.gz and .de.gz")
    parser.add_argument("--pairs", type=int, default=60_000)
    arguments = parser.parse_args()
    languages = ModelDirectory.find("en-de").languages
    english, german = (read(Path(f"{arguments.given}.{language}.gz")) for language in ("en", "de"))
    faults: Counter[str] = Counter()
    good = []
    for pair in dict.fromkeys(zip(english, german, strict=True)):
        why = fault(*pair, languages)
        faults[why or "good"] += 1
        if not why:
            good.append(pair)
    print(", ".join(f"{count:,} {why}" for why, count in faults.most_common()))
    Random(5).shuffle(good)
    write(arguments.out.with_name(f"{arguments.out.name}.valid"), good[:VALID])
    write(arguments.out, good[VALID:][: arguments.pairs])


if __name__ == "__main__":
    main()
