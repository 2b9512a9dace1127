// The offline report of one trace: the walk through it, as on the page. The trace stands in the same file as JSON.

import { address, goTo, restate } from "./address.js";
import { element, refocus } from "./dom.js";
import { completed, embedded } from "./packed.js";
import { comparison, described } from "./trace/comparison.js";
import { recompute } from "./recompute.js";
import { startWalk } from "./trace/walk.js";

const trace = await embedded();
trace.changed = completed(trace);
const direction = trace.source ? `${trace.source}${trace.detected ? " (detected)" : ""} → ${trace.target} · ` : "";
const origin = trace.given ? "the target was given" : `translated by ${trace.engine}`;
const walkthrough = element("div", { class: "walk" });
const beside = element("section", { class: "card", hidden: !trace.changed });
document.body.append(
  element("header", { class: "document" },
    element("p", { class: "quiet" }, `Trace of one translation · ${direction}model ${trace.model} · ${origin} · every number by the reference`),
    element("h1", {}, trace.text, element("span", { class: "quiet", "aria-label": "becomes", role: "img" }, " → "), trace.translation),
    ...trace.notes.map((note) => element("p", { class: "warn" }, note))),
  element("main", {}, beside, walkthrough),
  element("footer", { class: "quiet" }, `Pictures show the first ${trace.kept.positions} positions at most, and say where features are cut; ` +
    "the numbers are those of the float64 reference. Made by Pellucid."));

if (address().tab !== "report") restate("report", {});
const walk = startWalk(walkthrough, recompute);

function show() {
  const { settings } = address();
  if (trace.changed) {
    const focused = document.activeElement?.dataset?.control;
    const changes = trace.changed.interventions.map((each) => described(each, trace)).join("; ");
    beside.replaceChildren(element("h2", {}, `What if … ${changes}`), comparison(beside.clientWidth, trace, settings, (change) => goTo("report", { ...settings, cell: "", ...change })));
    refocus(beside, focused);
  }
  walk(trace.changed && settings.side !== "original" ? trace.changed : trace);
}

addEventListener("hashchange", show);
show();
