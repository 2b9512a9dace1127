"""The body of every request, declared as a `Config`: its fields are parsed, checked and documented from here."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar, Literal, Self

from pellucid.config import DecodeConfig
from pellucid.config.decode import Strategy
from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, required, setting
from pellucid.serve.parsing import read_json, read_parameters

MAX_UNKNOWN = 10  # unknown keys that one error lists


class Body(Config):
    """A JSON object. An unknown key is an error, null is the same as left out."""

    MEDIA_TYPES: ClassVar[tuple[str, ...]] = ("application/json",)

    read = staticmethod(read_json)  # the values as the client sent them, not yet checked

    api_key: str | None = setting(None, "API key, where the server requires one")

    @classmethod
    def parse(cls, values: dict[str, Any], **defaults: Any) -> Self:
        """The body, or one `UserError` with all its problems. `defaults` take the place of the declared ones."""
        known = cls.settings()
        unknown = [name for name in values if name not in known]
        problems = [Problem("unknown key", name, nearest(name, known)) for name in unknown[:MAX_UNKNOWN]]
        if len(unknown) > MAX_UNKNOWN:
            problems.append(Problem(f"and {len(unknown) - MAX_UNKNOWN} more unknown keys"))
        given = {name: value for name, value in values.items() if name in known and value is not None}
        try:
            body = cls(**{**defaults, **given})
        except UserError as error:
            problems = error.problems + problems
        if problems:
            raise UserError(problems)
        return body


class LibreTranslateBody(Body):
    """As LibreTranslate reads it: unknown keys and empty values are ignored, a number may be a string."""

    MEDIA_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")

    read = staticmethod(read_parameters)

    @classmethod
    def parse(cls, values: dict[str, Any], **defaults: Any) -> Self:
        known = cls.settings()
        given = {name: value for name, value in values.items() if name in known and value}
        for name, value in given.items():
            if int in known[name].types:
                with suppress(TypeError, ValueError, OverflowError):  # otherwise it is reported as it came
                    given[name] = max(0, int(value))
        return super().parse(given, **defaults)


class TranslateRequest(LibreTranslateBody):
    """`POST /translate`"""

    q: str | list[str] = required("text to translate, or a list of texts")
    source: str = required("language code of the text, or auto")
    target: str = required("language code of the translation; /languages lists the codes")
    format: Literal["text", "html"] = setting("text", "html: translate the text between the tags")
    alternatives: int = setting(0, "number of further translations", minimum=0)


class DetectRequest(LibreTranslateBody):
    """`POST /detect`"""

    q: str | list[str] = required("text whose language is detected")


class TextRequest(Body):
    """The fields that the requests of the native API share."""

    text: str | list[str] = required("text to translate, or a list of texts")
    source: str | None = setting(None, "language code; default: detected from the text")
    target: str | None = setting(None, "language code; default: the only one possible")


class SearchRequest(DecodeConfig, TextRequest):
    """`POST /api/translate`: a text or several, with every setting of a search."""

    prefix: str | None = setting(None, "text that the translation begins with")
    protect: bool = setting(False, "keep placeholders, and put tags where their words went")
    split: bool | None = setting(None, "split the text into sentences; default: if the model has language codes")


class StreamRequest(DecodeConfig, TextRequest):
    """`POST /api/stream`: one text, and the settings of a search for one translation."""

    text: str = required("text to translate")
    strategy: Strategy = setting("greedy", DecodeConfig.settings()["strategy"].help)
    n_best: ClassVar[int] = 1  # type: ignore[misc]  # a constant of this request, not a field of its body


class ExplainRequest(TextRequest):
    """`POST /api/explain`"""

    text: str = required("sentence to translate; of several, the first is explained")
    target_text: str | None = setting(None, "translation to explain, instead of the model's own")

    intervene: list[str] | None = setting(None, "what to change, such as decoder.layers.0.self_attention.mask=0")
    run: str | None = setting(None, "run whose model is explained, as it was at `step`; /api/runs lists them")
    step: int | None = setting(None, "step of the run, one of which it kept a snapshot", minimum=0)

    def conflicts(self) -> list[Problem]:
        problems = [Problem("is empty", "target_text", "leave it out")] if self.target_text == "" else []
        if (self.run is None) != (self.step is None):
            problems.append(Problem("given without the other", "run or step", "give both, or none"))
        return problems


class LearningRequest(Body):
    """`POST /api/learning`: how a run learned a sentence."""

    run: str = required("name of the run; /api/runs lists them")
    text: str | None = setting(None, "sentence to look at; default: the one that the run held out")
    target_text: str | None = setting(None, "what it should become; default: what the last snapshot makes of it")
    source: str | None = setting(None, "language code of the sentence; default: detected")
    target: str | None = setting(None, "language code of the translation; default: the only one possible")


class CellRequest(ExplainRequest):
    """`POST /api/cell`: one number of a trace, with its computation."""

    cell: str = required("value and place of the number: encoder.layers.0.self_attention.scores.2.3.5")


class LabRequest(Body):
    """`POST /api/labs/run`: a lab, and its settings where they differ from those of a quick run."""

    name: str = required("name of the lab, such as xor")
    changes: dict[str, Any] | None = setting(None, "settings of the lab by name; default: those of its quick run")


class WorkedRequest(Body):
    """`POST /api/worked`: a worked example, or a sheet of one's own, with other numbers."""

    id: str = required("name of the worked example, such as W6, of a template, such as softmax, or of the sheet")
    sheet: str | None = setting(None, "the text of a sheet of one's own, as TOML")
    inputs: dict[str, Any] | None = setting(None, "numbers by name, as strings, in the shape they have in the example")
    stated: dict[str, Any] | None = setting(
        None, "stated results by name, as strings, in the shape they have in the example"
    )
