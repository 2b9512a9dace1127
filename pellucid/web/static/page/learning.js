// The tab that watches a model learn: one sentence at every step of which a run kept a snapshot, and the walk at one of them.

import { address, cellName, goTo, link, restate } from "../address.js";
import { get, post, streamLearning } from "./api.js";
import { element, place } from "../dom.js";
import { aborted, report } from "./session.js";
import { momentAt, origin, startLearningView } from "../learning/learning.js";
import { startWalk } from "../trace/walk.js";

const PAUSE = 250; // milliseconds without a move of the slider until the walk follows
const CHOSEN = ["part", "layer", "head"]; // what another sentence keeps

let runs = null;
let asked = ""; // the request whose moments are shown, or on their way
let learning = null;
let watching = new AbortController();
let walking = new AbortController();
let walked = ""; // the request whose trace is walked
let timer = 0;
let show = null;
let walk = null;

// The tab is made when it is first shown.
export const startLearning = () => () => {
  if (!show) make();
  return runs ? watch() : get("/api/runs").then(offer).then(watch).catch(report);
};

function make() {
  const change = (changes) => ({ ...address().settings, ...changes });
  const href = (changes) => link("learning", change(changes));
  show = startLearningView(place("learning-view"), { href, choose: (changes) => goTo("learning", change(changes)),
    scrub: (step) => { restate("learning", change({ at: step, cell: "" })); draw(); } });
  walk = startWalk(place("learning-walk"), (_, cell) => post("/api/cell", { ...traceAsked(), cell: cellName(cell) }));
  place("learning-close").addEventListener("click", () => goTo("learning", change({ stage: "", cell: "" })));
  place("watched").addEventListener("submit", (event) => {
    event.preventDefault();
    const { settings } = address();
    const kept = Object.fromEntries(CHOSEN.map((name) => [name, settings[name]]));
    asked = "";
    goTo("learning", { ...kept, run: runOf(settings), text: place("watched-text").value, target_text: place("watched-target").value });
    watch();
  });
}

function offer(found) {
  runs = found;
  const choice = element("select", { "aria-label": "Run", onchange: () => goTo("learning", { run: choice.value }) }, ...runs.map(({ name }) => element("option", { value: name }, name)));
  place("watched-run").replaceChildren(...(runs.length > 1 ? ["Run ", choice] : [`Run: ${runs[0].name}`]));
}

const bodyOf = (settings) => ({ run: runOf(settings),
  ...Object.fromEntries(["text", "target_text", "source", "target"].filter((name) => settings[name]?.trim()).map((name) => [name, settings[name]])) });
const runOf = ({ run }) => (runs.find(({ name }) => name === run) ?? runs[0]).name;

async function watch() {
  const { settings } = address();
  const body = bodyOf(settings);
  const choice = place("watched-run").querySelector("select");
  if (choice) choice.value = body.run;
  if (JSON.stringify(body) === asked) return learning && draw();
  watching.abort();
  watching = new AbortController();
  [asked, learning, walked] = [JSON.stringify(body), null, ""];
  if (!body.text && !runs.find(({ name }) => name === body.run).sample) return nothing("Give a sentence: this run kept none.");
  [place("watched-text").value, place("watched-target").value] = [body.text ?? "", body.target_text ?? ""];
  place("learning-view").setAttribute("aria-busy", "true");
  place("learning-status").textContent = "Computing…";
  try {
    for await (const [name, content] of streamLearning(body, watching.signal)) {
      if (name === "start") begin(content);
      if (name === "moment") learning.moments.push(content), draw();
    }
    place("learning-view").setAttribute("aria-busy", "false");
    report(null);
  } catch (error) {
    if (aborted(error)) return;
    if (!learning?.moments.length) nothing("");
    asked = "";
    report(error);
  }
}

function begin(content) {
  learning = { ...content, moments: [] };
  const { run, given, trace } = content;
  place("watched-text").value = trace.text;
  if (given) place("watched-target").value = trace.translation;
  if (address().tab !== "learning") return; // somebody has gone on already
  const settings = { ...address().settings, run, text: trace.text, ...(given && { target_text: trace.translation }) };
  restate("learning", settings); // the sentence of the run, where none was given
  asked = JSON.stringify(bodyOf(settings));
}

function nothing(status) {
  learning = null;
  for (const id of ["learning-view", "learning-inside"]) place(id).hidden = true;
  place("learning-status").textContent = status;
}

function draw() {
  const { tab, settings } = address();
  if (tab !== "learning" || !learning.moments.length) return; // none has come yet
  place("learning-view").hidden = false;
  place("learning-status").replaceChildren(...origin(learning).childNodes);
  show(learning, settings);
  place("learning-inside").hidden = !settings.stage;
  if (settings.stage) follow();
}

// What the walk is of: this sentence and target, in the model of the step.
function traceAsked() {
  const { run, trace, moments } = learning;
  const languages = Object.fromEntries(["source", "target"].filter((side) => trace[side]).map((side) => [side, trace[side]]));
  const target = trace.translation && { target_text: trace.translation };
  return { text: trace.text, ...target, ...languages, run, step: moments[momentAt(learning, address().settings)].step };
}

let stepTrace = null;

// The walk at the step, once the slider rests.
function follow() {
  const body = traceAsked();
  if (JSON.stringify(body) === walked) return stepTrace && walk(stepTrace);
  [walked, stepTrace] = [JSON.stringify(body), null];
  walking.abort();
  walking = new AbortController();
  const { signal } = walking;
  place("learning-walk").setAttribute("aria-busy", "true");
  clearTimeout(timer);
  timer = setTimeout(async () => {
    try {
      stepTrace = await post("/api/explain", body, signal);
      place("learning-walk").setAttribute("aria-busy", "false");
      if (address().tab === "learning" && address().settings.stage) walk(stepTrace);
    } catch (error) {
      walked = "";
      report(error);
    }
  }, PAUSE);
}
