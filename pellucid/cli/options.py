"""The options of the commands. One that sets a field of a `Config` is made from its declaration there: flag, choices,
range, default and help text. The Config also checks the value, so that all wrong values are reported at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pellucid.config import EngineConfig
from pellucid.fields import Config, Setting

FLAGS = {"source_language": "--from", "target_language": "--to"}  # of fields whose flag is not their name
ENVIRONMENT = {"metrics_auth_token": "PELLUCID_METRICS_AUTH_TOKEN"}  # of fields that an environment variable may set

Given = dict[str, Any]
"""The values that were given on the command line, by the name of the field."""


class Fields(NamedTuple):
    """Marks a parameter of a verb, as in `Annotated[Given, Fields(DecodeConfig)]`: the verb has an option for each of
    these fields (without names: for all), and receives the given ones as a dict."""

    config: type[Config]
    names: tuple[str, ...] = ()

    def settings(self) -> dict[str, Setting]:
        known = self.config.settings()
        return {name: known[name] for name in self.names or known}


MODEL = typer.Option(metavar="MODEL", help="name of a shipped model, or a model or run directory")
Model = Annotated[str, MODEL]
From = Annotated[
    str | None, typer.Option("--from", metavar="CODE", help="source language, such as en; auto or left out: detected")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="target language, such as de; default: the only possible one")
]
Engine = Annotated[Given, Fields(EngineConfig, ("engine",))]
EngineAndType = Annotated[Given, Fields(EngineConfig)]
SourceFile = Annotated[Path | None, typer.Option("--source", metavar="FILE", help="source texts, one per line")]
TargetFile = Annotated[Path | None, typer.Option("--target", metavar="FILE", help="their translations, line by line")]
PairsFile = Annotated[Path | None, typer.Option("--pairs", metavar="FILE", help="pairs instead: .tsv, .jsonl or .tmx")]
Corpus = Annotated[str | None, typer.Option(help="test split of a generated corpus instead: dates or reports")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="set any setting by its name (repeatable)")
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def options(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as typer reads it: in place of each parameter marked with `Fields`, the options of its fields."""
    declared = signature(verb, eval_str=True).parameters.values()
    groups = {each.name: fields.settings() for each in declared if (fields := _fields(each.annotation))}
    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for each in declared:
        own = [_option(setting) for setting in groups[each.name].values()] if each.name in groups else [each]
        parameters += [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own]

    @wraps(verb)
    def run(context: typer.Context, **values: Any) -> None:
        for name, settings in groups.items():
            texts = {key: values.pop(key) for key in settings}
            values[name] = {key: _parsed(settings[key], text) for key, text in texts.items() if _is_given(context, key)}
        verb(**values)

    made: Any = run
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _fields(annotation: Any) -> Fields | None:
    return next((mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Fields)), None)


def _option(setting: Setting) -> Parameter:
    kind: Any = bool if bool in setting.types else list[str] | None if list in setting.types else str | None
    option = typer.Option(
        FLAGS.get(setting.name, setting.flag),
        metavar=_metavar(setting),
        envvar=ENVIRONMENT.get(setting.name),
        help=setting.help + (" (repeatable)" if list in setting.types else ""),
    )
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=setting.default, annotation=Annotated[kind, option])


def _metavar(setting: Setting) -> str | None:
    """What stands for the value: `greedy|beam|sample`, `<int 1..>`, `<float 0..1>`, `<str>`."""
    if setting.choices or bool in setting.types:
        return "|".join(setting.choices) or None
    kind = next(kind.__name__ for kind in (int, float, str) if kind in setting.types)
    low, high = ("" if bound is None else f"{bound:g}" for bound in (setting.minimum, setting.maximum))
    return f"<{kind} {low}..{high}>" if low or high else f"<{kind}>"


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _parsed(setting: Setting, text: Any) -> Any:
    """A number where one is expected. Text that is not a number stays as it is: the Config reports it."""
    for kind in (int, float):
        if kind in setting.types:
            with suppress(ValueError):
                return kind(text)
    return text
