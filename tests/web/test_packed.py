"""The data in a report, as a browser unpacks it, is the plain data of the trace: arrays to the digits of float32."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.tracing import explain, watch
from pellucid.tracing.packed import pack, packed_learning, packed_trace
from pellucid.tracing.plain import MOST_POSITIONS, cut
from pellucid.web.bundle import script_of

MakeModel = Callable[..., Path]
ARRAYS = ("values", "norms", "alignment")
CHANGES = [
    [],
    ["decoder.layers.1.cross_attention.head.2=0"],
    ["mask=0", "encoder.positions=0"],
    ["swap=0,1", "target.0=ein"],
]


def unpacked(browser: Any, data: str) -> Any:
    """What `packed.js` makes of it, in a browser."""
    tab = browser.new_page()
    tab.set_content(f'<script type="application/json" id="data">{data}</script>')
    found = tab.evaluate(
        f"async () => {{ {script_of('packed.js')}; const data = await embedded(); "
        "return { ...data, changed: data.changed === undefined ? undefined : completed(data) }; }"
    )
    tab.close()
    return found


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: "-".join(changes) or "plain")
def test_a_trace_is_the_same_again(browser: Any, make_model: MakeModel, changes: list[str]) -> None:
    trace = explain(make_model(), "the cat sat on the mat", "en", "de", intervene=changes)
    found, expected = unpacked(browser, packed_trace(trace)), trace.to_dict()
    pairs = [(trace, found, expected)]
    if trace.changed is not None:
        pairs.append((trace.changed, found["changed"], expected["changed"]))
    for of, own, plain in pairs:
        rest = [name for name in plain if name not in (*ARRAYS, "changed")]
        assert {name: own[name] for name in rest} == {name: plain[name] for name in rest}
        assert own["values"].keys() == plain["values"].keys()
        for name, entry in own["values"].items():
            assert (entry["shape"], entry["axes"]) == (plain["values"][name]["shape"], plain["values"][name]["axes"])
            same_numbers(entry["values"], cut(name, of.values[name], plain["kept"]["head_features"]))
        for name, values in own["norms"].items():
            same_numbers(values, of.parameters[name])
        same_numbers(own["alignment"], of.alignment[:MOST_POSITIONS, :MOST_POSITIONS])


def same_numbers(found: Any, exact: Any) -> None:
    numbers = np.array(found, dtype=float)  # null becomes nan
    assert np.array_equal(np.isnan(numbers), np.isneginf(exact))
    there = ~np.isnan(numbers)
    np.testing.assert_allclose(numbers[there], exact[there], rtol=6e-8, atol=1e-40)


def test_a_learning_is_the_same_again(browser: Any) -> None:
    learning = watch("dates", "3. Mai 2022", target_text="2022-05-03")
    found, expected = unpacked(browser, packed_learning(learning)), learning.to_dict()
    assert found["trace"] == expected["trace"]
    for own, plain, moment in zip(found["moments"], expected["moments"], learning.moments, strict=True):
        for name in ("step", "translation", "ended", "loss", "steps", "heads"):
            assert own[name] == plain[name]
        for name, weights in moment.weights.items():
            np.testing.assert_allclose(own["values"][name]["values"], weights, atol=1.1e-5)


def test_numbers_of_every_size_are_kept(browser: Any) -> None:
    numbers = np.array([[0.0, -1.5, 1e-30, -3.4e38], [-np.inf, 0.1, 123456.7, -2e-7]])
    tab = browser.new_page()
    found = tab.evaluate(f"(packed) => {{ {script_of('packed.js')}; return arrayOf(packed); }}", pack(numbers))
    tab.close()
    same_numbers(found, numbers)
