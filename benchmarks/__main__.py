"""All benchmarks in turn, then the page of results.

    python -m benchmarks --data DIR       hours, on an otherwise idle machine
    python -m benchmarks --quick          minutes: does each of them work?

Arguments are handed on to every benchmark; each also runs by itself (`python -m benchmarks.training`). Not among them:
`benchmarks.quality`, which scores finished runs.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks import results
from benchmarks.harness import RESULTS, ROOT, options

BENCHMARKS = ("training", "training_memory", "decoding", "latency", "cold_start", "serving_memory", "growth")


def main() -> int:
    arguments = options(__doc__).parse_args()
    failed = []
    for name in BENCHMARKS:
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], cwd=ROOT).returncode:
            failed.append(name)
    if arguments.out == RESULTS:
        results.write()
    else:
        results.write(arguments.out, arguments.out / "RESULTS.md")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
