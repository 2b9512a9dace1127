"""Hugging Face `generate` as its users call it: float32, sorted batches of 32 with padding, the cache in use.

Tokens come from the tokenizer of our model by the fast library, inside the measured time. `weights` as family: M2M100
with our weights, which says when it is done. `marian`: MarianMT with random weights, made to take as many steps for a
batch as its longest translation by Pellucid has tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from benchmarks.peers.channel import Channel
from benchmarks.peers.job import Job, Translated, timed
from benchmarks.peers.transformers_models import m2m100, marian

BATCH = 32
PAD, END = 0, 2


class Contender:
    def __init__(self, job: Job, family: str) -> None:
        torch.set_num_threads(job.threads)
        self.job = job
        self.tokenizer = Tokenizer.from_file(str(Path(job.model) / "tokenizer.json"))
        self.tag = [self.tokenizer.token_to_id(token) for token in job.tag]
        self.forced = family == "marian"
        self.model: Any = marian(job.shape) if self.forced else m2m100(job.shape, Path(job.model))

    @torch.inference_mode()
    def translate(self, request: dict[str, Any]) -> Translated:
        encoded = self.tokenizer.encode_batch(self.job.asked(request), add_special_tokens=False)
        sources = [[*self.tag, *each.ids, END] for each in encoded]
        order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
        targets: list[list[int]] = [[] for _ in sources]
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            longest = max(len(sources[place]) for place in places)
            padded = [sources[place] + [PAD] * (longest - len(sources[place])) for place in places]
            source = torch.tensor(padded)  # (rows, longest)
            steps = max(request["steps"][place] for place in places) if self.forced else 3 * longest + 10
            output = self.model.generate(
                input_ids=source,
                attention_mask=(source != PAD).long(),
                num_beams=request["beam"],
                do_sample=False,
                early_stopping=request["beam"] > 1,
                max_new_tokens=steps,
                use_cache=True,
            )
            for place, row in zip(places, output.tolist(), strict=True):
                targets[place] = [token for token in row[1:] if token not in (PAD, END)]
        return self.tokenizer.decode_batch(targets), list(map(len, targets))

    def save(self, folder: str) -> None:
        """Model and tokenizer as `from_pretrained` reads them."""
        self.model.save_pretrained(folder)
        specials = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
        tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=self.tokenizer, **specials)  # type: ignore[no-untyped-call]
        tokenizer.save_pretrained(folder)


def main() -> None:
    channel = Channel()
    job = Job.read(sys.argv[1])
    job.keep_to_cores()
    contender = Contender(job, sys.argv[2])
    for request in channel.requests():
        if "save" in request:
            contender.save(request["save"])
            channel.answer(None)
        else:
            channel.answer(timed(contender.translate, request))


if __name__ == "__main__":
    main()
