"""All benchmarks in turn, then the page of results.

    python -m benchmarks --data DIR       hours, on an otherwise idle machine
    python -m benchmarks --quick          minutes: does each of them work?

Arguments are handed on to every benchmark, those about models to the ones that translate; each also runs by itself
(`python -m benchmarks.training`). Not among them: `benchmarks.quality`, which scores finished runs.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks import results
from benchmarks.harness import ROOT, options
from benchmarks.translators import model_options

BENCHMARKS = (
    "training",
    "training_memory",
    "decoding",
    "latency",
    "cold_start",
    "serving_memory",
    "growth",
    "robustness",
)
TRANSLATING = ("decoding", "latency", "robustness")


def main() -> int:
    arguments = options(__doc__, parents=[model_options()]).parse_args()
    _, common = model_options().parse_known_args()
    failed = []
    for name in BENCHMARKS:
        print(f"\n=== {name}", flush=True)
        began = time.monotonic()
        handed_on = sys.argv[1:] if name in TRANSLATING else common
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *handed_on], cwd=ROOT).returncode:
            failed.append(name)
        print(f"{name} took {time.monotonic() - began:,.0f} s", file=sys.stderr, flush=True)
    results.write(arguments.out)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
