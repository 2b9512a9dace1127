// The tab that walks through the model on one's own sentence, and asks what if. All that is chosen stands in the address.

import { address, cellName, goTo } from "../address.js";
import { post } from "./api.js";
import { directions } from "./directions.js";
import { element, place } from "../dom.js";
import { aborted, direction, oneLine, report, session, told } from "./session.js";
import { drawWhatIf } from "./whatif.js";
import { drawMap } from "../trace/map.js";
import { startWalk } from "../trace/walk.js";

let shown = ""; // the request whose trace is shown, or on its way
let trace = null;
let explaining = new AbortController();
let show = null; // draws the walk as the address says
let refresh = null; // brings the choice of languages up to date

export function startInside() {
  refresh = directions(place("inside-directions"), () => state({}));
  show = startWalk(place("walk"), (of, cell) => post("/api/cell", { ...asked(of.interventions), cell: cellName(cell) }));
  place("sentence").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = place("inside-text").value;
    if (text !== oneLine(session.text)) session.text = text; // else it keeps its lines
    shown = ""; // asked for again, even if it is the same
    state({});
  });
  return async () => {
    place("inside-text").value = oneLine(session.text);
    await explain();
  };
}

// The address of the present text. Cells, steps and changes are of one text; another one begins without them.
function state(settings) {
  const { stage, layer, head, show: kind, part } = address().settings;
  const before = location.hash;
  if (session.text.trim()) goTo("inside", { stage, layer, head, show: kind, part, ...told(), ...settings });
  if (location.hash === before) explain();
}

const interventionsIn = ({ intervene }) => (intervene ?? "").split(" ").filter(Boolean);
const asked = (intervene) => ({ text: oneLine(session.text), ...direction(), ...(intervene.length && { intervene }) });

async function explain() {
  const { settings } = address();
  const body = asked(interventionsIn(settings));
  if (!body.text.trim()) return nothing("Type a sentence to see what the model computes, number by number.");
  if (JSON.stringify(body) === shown) return trace && draw();
  explaining.abort();
  explaining = new AbortController();
  shown = JSON.stringify(body);
  trace = null;
  place("walk").setAttribute("aria-busy", "true");
  place("waiting").hidden = !place("walk").hidden; // the first time: the map alone
  if (!place("waiting").hidden) place("waiting").replaceChildren(drawMap(session.model.config));
  place("inside-status").textContent = "Computing the trace…";
  try {
    trace = await post("/api/explain", body, explaining.signal);
    report(null);
    draw();
  } catch (error) {
    if (aborted(error)) return;
    nothing("");
    report(error);
  }
}

// What stood there was the trace of another text.
function nothing(status) {
  explaining.abort();
  [shown, trace] = ["", null];
  for (const id of ["walk", "what-if", "waiting"]) place(id).hidden = true;
  place("inside-status").textContent = status;
}

function draw() {
  const { settings } = address();
  place("waiting").hidden = true;
  const walked = trace.changed && settings.side !== "original" ? trace.changed : trace;
  refresh(trace.detected ? trace.source : null);
  place("inside-status").replaceChildren(element("span", { class: "quiet" }, trace.text), " → ", walked.translation,
    ...trace.notes.map((note) => element("small", { class: "quiet" }, ` · ${note}`)));
  for (const id of ["walk", "what-if"]) place(id).hidden = false;
  place("walk").setAttribute("aria-busy", "false");
  drawWhatIf(place("what-if"), trace, settings, (changes) => goTo("inside", { ...address().settings, cell: "", ...changes }));
  show(walked);
}
