"""How well a model learns the generated corpora in a given time, on examples it never saw.

    python benchmarks/generated.py dates --minutes 3       exact match; the bar is 98%
    python benchmarks/generated.py reports --minutes 10    ROUGE-L of summaries; the bar is 90

Run it on an otherwise idle machine. Prints a table and writes JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from tempfile import TemporaryDirectory

import pellucid
from pellucid.config import preset
from pellucid.evaluation.metrics import Score, exact_match, rouge_l
from pellucid.text.generated import CORPORA

UNSEEN = 1000


def measure(corpus: str, minutes: float, threads: int) -> dict[str, object]:
    """Train for so many minutes, then translate unseen examples."""
    with TemporaryDirectory() as folder:
        train = pellucid.TrainConfig(minutes=minutes, threads=threads)
        run = pellucid.train({"corpus": corpus}, Path(folder) / "run", model=preset("tiny"), train=train)
        steps = [entry for entry in run.history() if "loss" in entry]
        pairs = CORPORA[corpus](UNSEEN, 1, "test")
        if corpus == "reports":  # summaries are judged; the other direction has many right answers
            pairs = [pair for pair in pairs if pair.target_language == "summary"]
        translator = pellucid.load(run.directory)
        texts = [pair.source for pair in pairs]
        sources = translator.source_texts(texts, pairs[0].source_language, pairs[0].target_language)
        made = translator.translate_all(sources)
    texts, references = [translation.text for translation in made], [pair.target for pair in pairs]
    scores: list[Score] = [exact_match(texts, references), rouge_l(texts, references)]
    return {
        "corpus": corpus,
        "minutes": steps[-1]["seconds"] / 60,
        "updates": len(steps),
        "unseen": len(pairs),
        **{score.name: score.score for score in scores},
        "machine": platform.processor() or platform.machine(),
        "threads": threads,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=[*CORPORA])
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    figures = measure(arguments.corpus, arguments.minutes, arguments.threads)
    for name, value in figures.items():
        print(f"{name:<12} {value:.2f}" if isinstance(value, float) else f"{name:<12} {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
