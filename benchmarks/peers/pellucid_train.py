"""Pellucid as its users run it: its own loop, with log and display; the gate stands where a step is displayed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks import works
from benchmarks.peers.channel import Channel
from benchmarks.peers.gate import Gate
from pellucid.config import DataConfig, FilterConfig, TrainConfig
from pellucid.training.loop import train_steps
from pellucid.training.run import Run, Settings
from pellucid.training.run.display import Display
from pellucid.training.run.progress import Progress
from pellucid.training.state import begin


class GatedDisplay(Display):
    """Holds the loop after a step until more are asked for."""

    def __init__(self, config: TrainConfig, gate: Gate) -> None:
        super().__init__(config)
        self.gate = gate

    def step(self, progress: Progress, loss: float, rate: float, speed: float) -> None:
        super().step(progress, loss, rate, speed)
        self.gate.pass_through(progress.tokens)


def main() -> None:
    channel = Channel()
    name, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    work = {each.name: each for each in (works.TINY, works.BASE)}[name]
    config = work.train_config(threads)
    data = works.prepared_data(folder, work, threads)
    run = Run(folder / "pellucid")
    shutil.rmtree(run.directory, ignore_errors=True)
    model = data.with_vocabulary(work.model)
    run.create(Settings(DataConfig(source="source", target="target"), FilterConfig(), model, config), data.tokenizers)
    train_steps(begin(run, data, model, config), GatedDisplay(config, Gate(channel)))


if __name__ == "__main__":
    main()
