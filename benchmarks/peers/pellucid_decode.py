"""Pellucid as its users call it: `pellucid.load(...).translate(...)`, text in, text out, the default engine."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pellucid
from benchmarks.peers.channel import Channel
from benchmarks.peers.job import Job, Translated, timed


def translate(translator: pellucid.Translator, job: Job, request: dict[str, Any]) -> Translated:
    texts = job.asked(request)
    asked = texts[0] if len(texts) == 1 else texts  # a single text is given as such
    beam: int = request["beam"]
    if beam == 1:
        found = translator.translate(asked, job.source, job.target, strategy="greedy", scores=False)
    else:
        found = translator.translate(asked, job.source, job.target, beam=beam, scores=False)
    translations = found if isinstance(found, list) else [found]
    return [each.text for each in translations], [len(each.tokens) for each in translations]


def main() -> None:
    channel = Channel()
    job = Job.read(sys.argv[1])
    job.keep_to_cores()
    translator = pellucid.load(job.model)
    for request in channel.requests():
        channel.answer(timed(partial(translate, translator, job), request))


if __name__ == "__main__":
    main()
