// Inside: a walk through the model on one's own sentence, a stage at a time.

import { givenUp, post } from "./api.js";
import { directions, way } from "./directions.js";
import { element } from "./heatmap.js";
import { crossAttention, heads, mask, projections, scores, softmax, weightedSum } from "./stages/attention.js";
import { embedding, tokens } from "./stages/input.js";
import { addAndNorm, feedForward } from "./stages/layer.js";
import { chosenToken, logits } from "./stages/output.js";
import { View } from "./view.js";

const stages = [tokens, embedding, projections, scores, mask, softmax, weightedSum, heads, addAndNorm, feedForward, crossAttention, logits, chosenToken];
const oneLine = (text) => text.replace(/\s+/g, " ");
const place = (id) => document.getElementById(id);

export function startInside(session) {
  const refresh = directions(place("inside-directions"), session, () => look());
  let seen = ""; // the request that is shown
  let work = new AbortController();

  async function look() {
    const text = place("inside-text").value;
    const asked = { text, ...way(session) };
    if (text !== oneLine(session.text)) session.text = text; // else it keeps its lines
    work.abort();
    if (!text.trim()) {
      seen = "";
      place("walk").hidden = true;
      place("inside-status").textContent = "Type a sentence and see what the model makes of it, number by number.";
      return;
    }
    if (JSON.stringify(asked) === seen) return;
    work = new AbortController();
    place("inside-status").textContent = "Looking inside…";
    try {
      const trace = await post("/api/explain", asked, work.signal);
      seen = JSON.stringify(asked);
      session.tell(null);
      place("inside-status").textContent = [`${trace.text}  →  ${trace.translation}`, ...trace.notes].join(" · ");
      walk(trace);
    } catch (fault) {
      if (givenUp(fault)) return;
      place("inside-status").textContent = "";
      session.tell(fault);
    }
  }

  place("sentence").addEventListener("submit", (event) => {
    event.preventDefault();
    look();
  });
  return () => {
    refresh();
    place("inside-text").value = oneLine(session.text);
    look();
  };
}

// What was chosen stays from sentence to sentence, as far as it is there.
const kept = { stage: 0, stack: "encoder", layer: 0, head: 0 };

function walk(trace) {
  const unsure = trace.steps.reduce((most, step, at) => (step.entropy > trace.steps[most].entropy ? at : most), 0);
  const chosen = { ...kept, step: unsure, change };
  const nav = element("ol", { class: "stages", "aria-label": "Stages" }, ...stages.map((stage, at) => element("li", {},
    element("button", { type: "button", onclick: () => change({ stage: at }) }, stage.name))));
  const spoken = element("p", { class: "spoken", role: "status" });
  const body = element("div", { class: "card stage" });
  place("walk").replaceChildren(nav, element("div", {}, spoken, body));
  place("walk").hidden = false;

  function change(values) {
    Object.assign(chosen, values);
    const focused = document.activeElement?.dataset?.control;
    draw();
    for (const name of Object.keys(kept)) kept[name] = chosen[name];
    if ("stage" in values) spoken.textContent = `Stage ${chosen.stage + 1} of ${stages.length}: ${stages[chosen.stage].name}`;
    if (focused) body.querySelector(`[data-control="${focused}"]:not(:disabled)`)?.focus();
  }

  function draw() {
    const stage = stages[chosen.stage];
    const view = new View(trace, chosen, place("walk").lastElementChild.clientWidth);
    const layers = trace.config[`${stage.stack || chosen.stack}_layers`];
    chosen.layer = Math.min(chosen.layer, layers - 1);
    chosen.head = Math.min(chosen.head, trace.config.heads - 1);
    chosen.step = Math.min(chosen.step, trace.steps.length - 1);
    const options = {
      stack: [["encoder", "encoder, on the source"], ["decoder", "decoder, on the target"]],
      layer: counted(layers), head: counted(trace.config.heads), step: trace.steps.map((step, at) => [at, step.chosen.text]),
    };
    [...nav.querySelectorAll("button")].forEach((button, at) => {
      if (at !== chosen.stage) return button.removeAttribute("aria-current");
      button.setAttribute("aria-current", "step");
      return button.scrollIntoView({ block: "nearest" });
    });
    body.replaceChildren(
      element("div", { class: "steps" }, mover("back", "← Back", -1), element("span", { class: "quiet" }, `${chosen.stage + 1} of ${stages.length}`), mover("next", "Next →", 1)),
      element("h2", {}, stage.name),
      element("div", { class: "choices" }, ...stage.choices.map((name) => choice(name, options[name]))),
      ...stage.draw(view));
  }

  function mover(name, text, by) {
    const to = chosen.stage + by;
    return element("button", { type: "button", class: "plain", "data-control": name, disabled: !stages[to], onclick: () => change({ stage: to }) }, text);
  }

  function choice(name, options) {
    return element("fieldset", { class: "choice" }, element("legend", {}, name), ...options.map(([value, text]) => element("label", {},
      element("input", { type: "radio", name, value, "data-control": `${name}-${value}`, checked: chosen[name] === value, onchange: () => change({ [name]: value }) }),
      element("span", {}, text))));
  }

  draw();
}

const counted = (length) => Array.from({ length }, (_, at) => [at, String(at)]);
