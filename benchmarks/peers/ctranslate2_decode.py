"""CTranslate2 by itself, with the tokenizer of the model, text in, text out, in any of its settings.

The weights are ours; int8 is made by CTranslate2 when it loads them, as its converter would make it. `translate_batch`
sorts its input by length before it cuts it into batches, so nothing is sorted here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ctranslate2 import Translator
from tokenizers import Tokenizer

from benchmarks.peers.channel import Channel
from benchmarks.peers.job import Job, Translated, timed

END = "</s>"
WARM_UP = 32  # sentences


class Contender:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.tokenizer = Tokenizer.from_file(str(Path(job.model) / "tokenizer.json"))
        self.ids = self.tokenizer.get_vocab()
        self._translator: Translator | None = None
        self._opened: dict[str, Any] = {}

    def prepare(self, request: dict[str, Any]) -> None:
        """Have the setting of a request open, and warm: one that was just opened translates some sentences first.

        One at a time is open: the threads of another would be in the way.
        """
        if self._opened != request["open"]:
            self._translator = None
            self._translator = Translator(self.job.float32, device="cpu", **request["open"])
            self._opened = request["open"]
            self.translate({**request, "places": range(min(WARM_UP, len(self.job.texts)))})

    def translate(self, request: dict[str, Any]) -> Translated:
        assert self._translator is not None
        encoded = self.tokenizer.encode_batch(self.job.asked(request), add_special_tokens=False)
        sources = [[*self.job.tag, *each.tokens, END] for each in encoded]
        results = self._translator.translate_batch(
            sources,
            beam_size=request["beam"],
            max_decoding_length=3 * max(map(len, sources)) + 10,  # as Pellucid ends what would never end
            max_batch_size=request["batch"],
            batch_type=request["batch_type"],
        )
        targets = [result.hypotheses[0] for result in results]
        numbers = [[self.ids[token] for token in target] for target in targets]
        return self.tokenizer.decode_batch(numbers), list(map(len, targets))


def main() -> None:
    channel = Channel()
    job = Job.read(sys.argv[1])
    job.keep_to_cores()
    contender = Contender(job)
    for request in channel.requests():
        contender.prepare(request)  # outside the measured time
        channel.answer(timed(contender.translate, request))


if __name__ == "__main__":
    main()
