"""The shortest script that translates with Hugging Face: what a user writes after reading its documentation."""

import sys

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder, text = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSeq2SeqLM.from_pretrained(folder)
output = model.generate(**tokenizer(text, return_tensors="pt"), num_beams=5, max_new_tokens=5)
print(tokenizer.decode(output[0], skip_special_tokens=True))
