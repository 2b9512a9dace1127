// The offline report of one trace: every stage below each other, in sections. The trace stands in the same file as JSON.

import { element, largestAt, place } from "./dom.js";
import { dependOn, drawStages, sections } from "./trace/stages.js";

const trace = JSON.parse(place("data").textContent);

// Begin with the cross-attention head that attends to the fewest tokens, and with the step of the largest entropy.
function startingPoint() {
  const heads = trace.heads.filter((head) => head.part === "decoder.cross_attention");
  const { part, layer, head } = heads[largestAt(heads.map((each) => -each.spread))];
  return { part, layer, head, show: "weights", step: largestAt(trace.steps.map((step) => step.entropy)) };
}

const chosen = startingPoint();
const bodies = Object.entries(sections).map(([name, stages]) => ({
  name, stages, body: element("section", { class: "card stage", id: name.toLowerCase().replace(" ", "-") }),
}));

function choose(settings) {
  Object.assign(chosen, settings);
  drawSections(bodies.filter(({ stages }) => dependOn(stages, settings)));
}

function drawSections(which) {
  for (const { name, stages, body } of which) drawStages(body, element("h2", {}, name), stages, { trace, chosen, choose });
}

const direction = trace.source ? `${trace.source} → ${trace.target} · ` : "";
const origin = trace.given ? "the target was given" : `translated by ${trace.engine}`;
document.body.append(
  element("header", { class: "document" },
    element("p", { class: "quiet" }, `Trace of one translation · ${direction}model ${trace.model} · ${origin} · every number by the reference`),
    element("h1", {}, trace.text, element("span", { class: "quiet", "aria-label": "becomes", role: "img" }, " → "), trace.translation),
    ...trace.notes.map((note) => element("p", { class: "warn" }, note)),
    element("nav", { "aria-label": "Sections" }, ...bodies.map(({ name, body }) => element("a", { href: `#${body.id}` }, name)))),
  element("main", {}, ...bodies.map(({ body }) => body)),
  element("footer", { class: "quiet" }, `Pictures show the first ${trace.kept.positions} positions at most, and say where features are cut; ` +
    "the numbers are those of the float64 reference. Made by Pellucid."));
drawSections(bodies);
