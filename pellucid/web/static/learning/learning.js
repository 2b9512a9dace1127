// How a model learned a sentence: a slider over the steps of its training, with what the model made of it at each.

import { element, number, paragraph, percent, refocus, table } from "../dom.js";
import { heatmap } from "../heatmap.js";
import { picture } from "../labs/figure.js";
import { drawHeads } from "../trace/attention.js";
import { bar } from "../trace/output.js";
import { View } from "../trace/view.js";

const PACE = 600; // milliseconds from step to step while it plays
const grouped = (count) => count.toLocaleString("en");

// The moment that the settings name; the first without one.
export const momentAt = (learning, { at }) => Math.max(0, learning.moments.findIndex(({ step }) => String(step) === at));

// Fills `where`. `scrub` goes to a step, `choose` changes the settings, `href` is a link to changed settings, if it can be.
// Returns what shows a learning as the settings say.
export function startLearningView(where, { scrub, choose, href = null }) {
  let shown = { learning: { moments: [] }, at: 0 };
  let playing = 0;
  const slider = element("input", { type: "range", min: 0, step: 1, "aria-label": "Step of the training", "data-control": "scrub",
    oninput: () => { pause(); goTo(Number(slider.value)); } });
  const [name, play] = [element("h2", {}), element("button", { type: "button", class: "plain", onclick: () => (playing ? pause() : start()) }, "▶ Play")];
  const [told, drawn, attention] = [element("div", { class: "told" }), element("div", { class: "learned" }), element("div", { class: "card stage" })];
  where.replaceChildren(element("div", { class: "card stage" }, element("div", { class: "title" }, name, play), slider, told, drawn), attention);

  const goTo = (at) => scrub(shown.learning.moments[at].step);

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "▶ Play";
  }

  function start() {
    if (shown.at === shown.learning.moments.length - 1) goTo(0);
    play.textContent = "❚❚ Pause";
    playing = setInterval(() => {
      if (!where.isConnected || shown.at === shown.learning.moments.length - 1) pause();
      else goTo(shown.at + 1);
    }, PACE);
  }

  return function show(learning, settings) {
    const focused = document.activeElement?.dataset?.control;
    const at = momentAt(learning, settings);
    const moment = learning.moments[at];
    shown = { learning, at };
    name.textContent = `Step ${grouped(moment.step)} of ${grouped(learning.steps.at(-1))}`;
    [slider.max, slider.value] = [learning.moments.length - 1, at];
    slider.setAttribute("aria-valuetext", `step ${grouped(moment.step)}: ${moment.translation || "nothing"}, loss ${number(moment.loss)}`);
    told.replaceChildren(...said(learning, moment));
    const width = drawn.clientWidth;
    drawn.replaceChildren(
      element("div", { class: "columns" }, lossOf(learning, at, Math.round(Math.min(520, width > 640 ? (width - 32) / 2 : width))), element("div", {}, element("h3", {}, "The tokens of the target"), probabilities(moment))),
      element("h3", {}, "Their probability at every step"), overSteps(learning, at, width, goTo));
    attention.hidden = Boolean(settings.stage);
    if (!attention.hidden) attention.replaceChildren(element("h2", {}, `Attention at step ${grouped(moment.step)}`), ...heads(learning, moment, settings, attention.clientWidth, { choose, href }));
    refocus(where, focused);
  };
}

// The translation at this step, and what it should be.
function said({ given, trace }, { translation, ended, loss }) {
  const right = ended && translation === trace.translation;
  return [
    element("p", { class: `output${right ? " right" : ""}`, dir: "auto" }, translation || "(nothing)", !ended && "…"),
    element("p", { class: "quiet" }, `What the model says at this step, by beam search${ended ? "" : "; it would go on"}. ${given ? "It should say" : "At the last step it says"} `,
      element("b", {}, trace.translation || "(nothing)"), ` · loss of ${given ? "that" : "the latter"}: ${number(loss)} nats per token (cross-entropy)`),
  ];
}

function lossOf({ moments }, at, width) {
  const axis = (label, log) => ({ label, log, low: null, high: null });
  const series = [{ name: "loss", x: moments.map(({ step }) => step), y: moments.map(({ loss }) => loss) },
    { name: "this step", x: [moments[at].step], y: [moments[at].loss] }];
  return element("div", {}, element("h3", {}, "Loss of the target"),
    picture({ kind: "lines", title: "Loss of the target at every step", x: axis("step", false), y: axis("nats per token", true), series }, width));
}

const probabilities = ({ steps }) => table(["token", "", "probability", "likeliest instead"], steps.map(({ chosen, candidates: [first] }) =>
  [chosen.text, bar(chosen.probability), percent(chosen.probability), first.id === chosen.id ? "" : `${first.text} ${percent(first.probability)}`]));

function overSteps({ moments, trace }, at, width, goTo) {
  const values = trace.target_out.map((_, place) => moments.map(({ steps }) => steps[place].chosen.probability));
  const wide = Math.max(9, Math.min(34, Math.floor((width - 190) / moments.length)));
  return heatmap({ values, kind: "weights", rows: trace.target_out.map(({ text }) => text), columns: moments.map(({ step }) => `step ${grouped(step)}`), title: "p",
    note: "row: token of the target, column: step of the training; a click goes to it", cell: [wide, 22], name: "learned", at: [null, at],
    open: (_, column) => goTo(column), opens: "goes to its step" });
}

// Every head of every attention, as in the walk.
function heads(learning, moment, { part, layer, head }, width, { choose, href }) {
  const trace = { ...learning.trace, ...moment };
  const chosen = { part: trace.values[`${part?.replace(".", ".layers.0.")}.weights`] ? part : "decoder.cross_attention", layer: whole(layer), head: whole(head), show: "weights", step: 0, cell: [] };
  const stage = { id: "heads", formulas: [], layers: null };
  return drawHeads(new View(stage, trace, chosen, { choose, open: null, href }, width)).filter(Boolean);
}

const whole = (text) => (/^\d{1,3}$/.test(text) ? Number(text) : 0);

// What is shown, and that the page says where its numbers come from.
export const origin = ({ run, steps, given }) => paragraph(`The run “${run}” kept ${steps.length} snapshots of its weights, rounded to float16; every number is computed from them by the ` +
  `reference. Probabilities, loss and attention are those of one target at every step, ${given ? "which was given" : "which is what the last snapshot says"}; each token is predicted from those of the target before it, as in training. The translation is the model’s own.`);
