"""Finding a model: one that ships with the package by its name, any other by its directory."""

from __future__ import annotations

from pathlib import Path

from pellucid.errors import UserError, nearest
from pellucid.model_directory.weights import CONFIG

SHIPPED = Path(__file__).parents[1] / "models"
PREVIOUS_MODEL = ".model.before"  # of a run whose budget was extended, until it ends again


def shipped_models() -> dict[str, Path]:
    """The models that come with the package."""
    return {path.parent.name: path.parent for path in sorted(SHIPPED.glob(f"*/{CONFIG}"))}


def find_model(name: str | Path) -> Path:
    """The directory of a model: a shipped one by name, or a model or run directory."""
    shipped = shipped_models()
    if str(name) in shipped:
        return shipped[str(name)]
    directory = Path(name)
    if (directory / CONFIG).is_file():
        return directory
    for name_in_run in ("model", PREVIOUS_MODEL):
        if (directory / name_in_run / CONFIG).is_file():
            return directory / name_in_run
    if (directory / "config.toml").is_file():
        remedy = f"go on with pellucid train --resume {directory}, or end it by adding --minutes 0"
        raise UserError("this run has no model yet", str(directory), remedy)
    if directory.is_dir():
        raise UserError(f"has no {CONFIG}: it is not a model directory", str(directory), "give the folder of a model")
    none = "no model ships with this copy: train one, see pellucid train --help, or give the folder of a model"
    remedy = nearest(str(name), shipped) if shipped else none
    raise UserError(f"no model {str(name)!r}, neither by name nor as a folder", "model", remedy)
