"""How much of a batch is real tokens; the bar is 95% on Multi30k.

python benchmarks/padding.py --source train.en.gz --target train.de.gz --vocabulary 10000 --batch-tokens 4096
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from pellucid.text.batch import batches, real_share
from pellucid.text.corpus import Corpus
from pellucid.text.readers import Aligned, Pairs
from pellucid.text.tokenizer import Tokenizers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    arguments = parser.parse_args()
    pairs = Pairs([Aligned(arguments.source, arguments.target)])
    with TemporaryDirectory() as folder:
        corpus = Corpus.build(pairs, Tokenizers.learn(pairs, arguments.vocabulary), Path(folder) / "corpus")
        plan = batches(corpus, arguments.batch_tokens, seed=1, epoch=0)
        print(f"{len(corpus):,} pairs, {len(plan):,} batches: {100 * real_share(corpus, plan):.2f}% real tokens")


if __name__ == "__main__":
    main()
