// The tab that walks through the model on one's own sentence, one stage at a time.

import { post } from "./api.js";
import { directions } from "./directions.js";
import { element, largestAt, place } from "../dom.js";
import { aborted, buttonList, direction, report, session } from "./session.js";
import { drawStages, walk } from "../trace/stages.js";

const oneLine = (text) => text.replace(/\s+/g, " ");
let shown = ""; // the request whose trace is shown
let explaining = new AbortController();

export function startInside() {
  const refresh = directions(place("inside-directions"), () => explain());
  place("sentence").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });
  return () => {
    refresh();
    place("inside-text").value = oneLine(session.text);
    explain();
  };
}

async function explain() {
  const text = place("inside-text").value;
  const body = { text, ...direction() };
  if (text !== oneLine(session.text)) session.text = text; // else it keeps its lines
  explaining.abort();
  if (!text.trim()) {
    shown = "";
    place("walk").hidden = true;
    place("inside-status").textContent = "Type a sentence to see what the model computes, number by number.";
    return;
  }
  if (JSON.stringify(body) === shown) return;
  explaining = new AbortController();
  place("inside-status").textContent = "Computing the trace…";
  try {
    const trace = await post("/api/explain", body, explaining.signal);
    shown = JSON.stringify(body);
    report(null);
    place("inside-status").textContent = [`${trace.text}  →  ${trace.translation}`, ...trace.notes].join(" · ");
    startWalk(trace);
  } catch (error) {
    if (!aborted(error)) place("inside-status").textContent = "";
    report(error);
  }
}

// What was chosen stays from sentence to sentence, but for the step: it begins with the one of the largest entropy.
const chosen = { stage: 0, part: "encoder.self_attention", layer: 0, head: 0, show: "weights", step: 0 };

function startWalk(trace) {
  chosen.step = largestAt(trace.steps.map((step) => step.entropy));
  const list = element("ol", { class: "stages", "aria-label": "Stages" });
  const mark = buttonList(list, walk.map((stage) => [stage.name]), (stage) => choose({ stage }), "step");
  const status = element("p", { class: "spoken", role: "status" });
  const body = element("div", { class: "card stage", id: "stage" });
  const mover = (name, text, stage) => element("button", { type: "button", class: "plain", "data-control": name, disabled: !walk[stage],
    onclick: () => choose({ stage }) }, text);

  function choose(settings) {
    Object.assign(chosen, settings);
    const { stage } = chosen;
    const progress = element("span", { class: "quiet" }, `${stage + 1} of ${walk.length}`);
    const movers = element("div", { class: "steps" }, mover("back", "← Back", stage - 1), progress, mover("next", "Next →", stage + 1));
    drawStages(body, element("div", { class: "title" }, element("h2", {}, walk[stage].name), movers), [walk[stage]], { trace, chosen, choose });
    mark(stage);
    if ("stage" in settings) status.textContent = `Stage ${stage + 1} of ${walk.length}: ${walk[stage].name}`;
  }

  place("walk").replaceChildren(list, element("div", {}, status, body));
  place("walk").hidden = false;
  choose({});
}
