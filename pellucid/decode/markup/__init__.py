"""Markup in a translation: tags and placeholders are taken out of a text, and put back where their words went."""
