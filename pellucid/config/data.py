"""The settings of the training data: where pairs come from, and which of them are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pellucid.errors import Problem, counted, nearest
from pellucid.fields import Config, setting

CORPORA = ("dates", "reports")  # that `pellucid.text.generated` makes
Files = str | list[str] | None
# The kinds of augmentation, which prepares a model for what people write (`pellucid.text.augment`)
SIGNS = ("punctuation", "case", "capitals", "typos", "spaces", "quotes", "sharp_s")
AUGMENTATIONS = (*SIGNS, "numbers", "names", "insertions", "paragraphs", "fragments", "values", "copies")
PREFIXES = {"train": "", "valid": "valid_", "earlier": "earlier_"}  # of the fields that name files


class DataConfig(Config):
    """Where the pairs come from: two aligned files, files of pairs, or a generated corpus."""

    source: Files = setting(None, "files of source texts, one per line (also .gz, .xz)")
    target: Files = setting(None, "files of their translations, line by line")
    pairs: Files = setting(None, "files of pairs: .tsv, .jsonl, .tmx (also .gz, .xz)")
    corpus: str | None = setting(None, "generated corpus: dates or reports")
    valid_source: Files = setting(None, "validation source texts; default: 1% of the pairs are held out")
    valid_target: Files = setting(None, "their translations")
    valid_pairs: Files = setting(None, "files of validation pairs")
    earlier_source: Files = setting(
        None, "source texts of an earlier training, mixed in when fine-tuning to prevent forgetting"
    )
    earlier_target: Files = setting(None, "their translations")
    earlier_pairs: Files = setting(None, "files of pairs of an earlier training")
    earlier_share: float = setting(0.5, "share of earlier pairs in an epoch", minimum=0, maximum=0.99)
    source_language: str | None = setting(None, "language code of the source, such as en")
    target_language: str | None = setting(None, "language code of the target, such as de")
    both_ways: bool = setting(False, "train both directions in one model, selected by a language tag before the source")
    joint: bool = setting(True, "one vocabulary shared by both sides")
    augment: Files = setting(
        None,
        "kinds of augmentation, as a list, or all or none; default: all, where the languages are known and the corpus "
        f"is not generated. Kinds: {', '.join(AUGMENTATIONS)}",
    )
    longest: int = setting(256, "maximum tokens per side; longer pairs are left out", minimum=8)

    def conflicts(self) -> Iterator[Problem]:
        given = [name for name in ("source", "pairs", "corpus") if getattr(self, name)]
        if len(given) != 1 and given != ["source", "pairs"]:
            what = f"{' and '.join(given)} given together" if given else "no pairs given"
            yield Problem(what, "data", "give --source and --target, or --pairs, or --corpus")
        if self.corpus is not None and self.corpus not in CORPORA:
            yield Problem(f"unknown corpus {self.corpus!r}", "corpus", nearest(self.corpus, CORPORA))
        for prefix in PREFIXES.values():
            sources, targets = file_list(getattr(self, f"{prefix}source")), file_list(getattr(self, f"{prefix}target"))
            if len(sources) != len(targets):
                what = f"{counted(len(sources), 'file')} of sources, {len(targets)} of targets"
                yield Problem(what, f"{prefix}source", "give them in pairs, in the same order")
        for name in (name for names in self._files().values() for name in names):
            shown = name.encode("utf-8", "replace").decode()
            if shown != name:
                remedy = "rename it: the config of a run, which is UTF-8, must name it"
                yield Problem("the name is not UTF-8", shown, remedy)
        if (self.source_language is None) != (self.target_language is None):
            yield Problem("one language without the other", "source_language", "give both --from and --to")
        if self.both_ways and self.corpus is not None:
            yield Problem("a generated corpus has its own directions", "both_ways", "leave it out")
        elif self.both_ways and self.source_language is None:
            yield Problem("needs the languages of both sides", "both_ways", "add --from and --to")
        for kind in file_list(self.augment):
            if kind not in (*AUGMENTATIONS, "all", "none"):
                yield Problem(f"unknown kind {kind!r}", "augment", nearest(kind, (*AUGMENTATIONS, "all", "none")))
        if self.languages and self.languages[0] == self.languages[1]:
            yield Problem("the same language on both sides", "target_language", "give two codes")
        if self.both_ways and not self.joint:
            yield Problem("needs one joint vocabulary", "both_ways", "leave joint as it is")

    def _files(self) -> dict[str, list[str]]:
        """The files of every field that names some."""
        names = [prefix + kind for prefix in PREFIXES.values() for kind in ("source", "target", "pairs")]
        return {name: files for name in names if (files := file_list(getattr(self, name)))}

    def absolute(self) -> DataConfig:
        """The same with full paths, so that a run can be resumed from any working directory."""
        full = {name: [str(Path(path).resolve()) for path in files] for name, files in self._files().items()}
        return self.changed(**full)

    @property
    def augmentations(self) -> tuple[str, ...]:
        """The kinds of augmentation that are on."""
        default = "none" if self.corpus else "all"
        asked = file_list(default if self.augment is None else self.augment)
        return AUGMENTATIONS if "all" in asked else tuple(kind for kind in AUGMENTATIONS if kind in asked)

    @property
    def languages(self) -> tuple[str, str] | None:
        """The requested languages, source and target."""
        if self.source_language is None or self.target_language is None:
            return None
        return self.source_language, self.target_language

    @property
    def directions(self) -> list[tuple[str, str]]:
        """What the model shall translate, as (source, target) codes; one direction needs no codes."""
        if self.corpus == "reports":
            return [("report", "summary"), ("summary", "report")]
        if self.languages is None:
            return []
        return [self.languages, self.languages[::-1]] if self.both_ways else [self.languages]


def file_list(value: Files) -> list[str]:
    """One file or several, as a list."""
    return [value] if isinstance(value, str) else list(value or [])


class FilterConfig(Config):
    """Which pairs are left out of training. The defaults leave out little; 0 or false switches a filter off."""

    drop_empty: bool = setting(True, "leave out pairs with an empty side")
    max_characters: int = setting(
        4000, "maximum characters per side; longer pairs are left out, not cut; 0: no limit", minimum=0
    )
    max_ratio: float = setting(
        6.0, "maximum (longer + 20) / (shorter + 20), the lengths of the sides in bytes; 0: no limit", minimum=0
    )
    identical_words: int = setting(
        4,
        "leave out pairs with equal sides of at least this many words (shorter ones may be names); 0: keep all",
        minimum=0,
    )
    drop_duplicates: bool = setting(True, "leave out pairs that occurred before (same source and target)")


# For test sets, of which nothing is left out.
KEEP_ALL = FilterConfig(drop_empty=False, max_characters=0, max_ratio=0.0, identical_words=0, drop_duplicates=False)
