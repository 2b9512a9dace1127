"""A trace as one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.web.bundle import offline_page

if TYPE_CHECKING:
    from pellucid.tracing.trace import Trace


def page(trace: Trace) -> str:
    title = f"{trace.text} → {trace.translation}"
    return offline_page(title, trace.to_json(), "report.js", "theme.css", "trace/trace.css")
