"""Tokenised pairs on disk."""

from pellucid.text.corpus.corpus import Corpus

__all__ = ["Corpus"]
