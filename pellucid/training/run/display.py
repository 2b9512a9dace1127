"""The display of a run: a live view in a terminal, plain lines elsewhere."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pellucid.config import TrainConfig
from pellucid.training.run.progress import Progress
from pellucid.training.validate import Validation

LINE_EVERY = 10.0  # seconds between plain lines
SILENT = Console(quiet=True, force_terminal=False)  # for all processes but the main one
SMOOTHING = 0.95  # of the exponential moving averages of loss and speed that are shown


class Display:
    """Use as a context manager. `step` and `validation` show progress, `note` prints a line that stays."""

    def __init__(self, config: TrainConfig, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.config = config
        self.live = Live(console=self.console, refresh_per_second=4) if self.console.is_terminal else None
        self.loss: float | None = None
        self.speed: float | None = None
        self.last_line = monotonic()
        self.last_validation: Validation | None = None

    def __enter__(self) -> Self:
        if self.live:
            self._print(self.live.start)
        return self

    def __exit__(self, *_error: object) -> None:
        if self.live:
            self._print(self.live.stop)

    def note(self, text: str) -> None:
        self._print(partial(self.console.print, text, highlight=False, markup=False, soft_wrap=True))

    def _print(self, output: Callable[[], None]) -> None:
        """If the reader closes the pipe or the terminal, the run continues without output."""
        try:
            output()
        except (OSError, SystemExit) as error:  # rich raises SystemExit for a broken pipe
            if isinstance(error, OSError) and error.errno not in (errno.EPIPE, errno.EIO):
                raise
            self.console.quiet = True
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stderr.fileno())  # what is buffered would fail again at exit

    def step(self, progress: Progress, loss: float, rate: float, speed: float) -> None:
        self.loss = loss if self.loss is None else SMOOTHING * self.loss + (1 - SMOOTHING) * loss
        self.speed = speed if self.speed is None else SMOOTHING * self.speed + (1 - SMOOTHING) * speed
        if self.live:
            self._print(partial(self.live.update, self._view(progress, rate)))
        elif monotonic() - self.last_line >= LINE_EVERY:
            self.last_line = monotonic()
            self.note("  ".join(f"{name} {value}" for name, value in self._facts(progress, rate).items()))

    def validation(self, progress: Progress, validation: Validation) -> None:
        self.last_validation = validation
        self.note(f"validation at step {progress.step:,}: {_scores(validation)}")
        if validation.sample and not self.live:
            self.note(_sample(validation))

    def _facts(self, progress: Progress, rate: float) -> dict[str, str]:
        facts = {
            "step": f"{progress.step:,}",
            "epoch": str(progress.epoch + 1),
            "loss": f"{self.loss:.3f}",
            "tokens/s": f"{self.speed:,.0f}",
            "learning rate": f"{rate:.2e}",
            "time": _clock(progress.seconds),
        }
        done = progress.share_done(self.config)
        return facts | ({"left": _clock(progress.seconds * (1 - done) / done)} if done else {})

    def _view(self, progress: Progress, rate: float) -> Group:
        facts = self._facts(progress, rate)
        table = Table.grid(padding=(0, 3))
        table.add_row(*(Text(name, style="dim") for name in facts))
        table.add_row(*facts.values())
        rows: list[Table | Text] = [table]
        done = progress.share_done(self.config)
        if done is not None:
            line = Table.grid()  # a bar by itself does not end its line
            line.add_row(ProgressBar(total=1.0, completed=done, width=60))
            rows.append(line)
        if self.last_validation and self.last_validation.sample:
            rows.append(Text(_sample(self.last_validation)))
        return Group(*rows)


def _scores(validation: Validation) -> str:
    text = f"loss {validation.loss:.3f}, perplexity {validation.perplexity:.2f}"
    if validation.bleu is None or validation.chrf is None or validation.exact_match is None:
        return text
    return f"{text}, BLEU {validation.bleu:.1f}, chrF {validation.chrf:.1f}, exact {validation.exact_match:.1f}%"


def _sample(validation: Validation) -> str:
    source, translation, target = validation.sample or ("", "", "")
    return f"  source  {source}\n  model   {translation}\n  target  {target}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
