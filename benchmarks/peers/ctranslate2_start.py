"""The least that translates with CTranslate2 and a tokenizer: a floor for whatever is built on them."""

import sys

from ctranslate2 import Translator
from tokenizers import Tokenizer

model, converted, *source = sys.argv[1:]
tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
[result] = Translator(converted, device="cpu", inter_threads=1, intra_threads=1).translate_batch([source], beam_size=5)
ids = tokenizer.get_vocab()
print(tokenizer.decode([ids[token] for token in result.hypotheses[0]]))
