// The tab of labs: what each measured, and a run of one's own, with its settings as sliders and a curve while it runs.

import { address, goTo, restate } from "../address.js";
import { get, runLab } from "./api.js";
import { element, place } from "../dom.js";
import { buttonList, report } from "./session.js";
import { picture } from "../labs/figure.js";
import { drawLab, drawResult } from "../labs/lab.js";

const MOST_CURVES = 6;

export function startLabs() {
  let opened = null;
  return (settings) => {
    opened ||= get("/api/labs").then(open).catch((error) => {
      opened = null;
      report(error);
    });
    return opened.then((show) => show?.(settings));
  };
}

// Returns what shows the lab that the settings name; the first one if they name none.
function open(labs) {
  const mark = buttonList(place("lab-list"), labs.map(({ name, claims, title }) => [element("b", {}, claims.split(",")[0]), title ?? name]),
    (at) => (labs[at] === shown ? draw(at) : goTo("labs", { lab: labs[at].name })), "true");
  let running = new AbortController();
  let shown = null;

  function show({ lab: name }) {
    const at = Math.max(0, labs.findIndex((each) => each.name === name));
    if (labs[at].name !== name && address().tab === "labs") restate("labs", { lab: labs[at].name });
    if (labs[at] !== shown) draw(at); // a run goes on while another tab is open
  }

  function draw(at) {
    running.abort();
    const lab = shown = labs[at];
    const form = runForm(lab, (settings) => run(lab, settings, form, result), () => running.abort());
    const result = drawLab(place("lab"), lab, [form.element]);
    mark(at);
  }

  async function run(lab, settings, form, result) {
    running.abort();
    const mine = running = new AbortController();
    const live = liveCurve(lab);
    form.started(live.element);
    try {
      for await (const [name, content] of runLab({ name: lab.name, changes: settings }, mine.signal)) {
        if (name === "progress") form.progress(content.done, live.add(content));
        else drawResult(result, content, "Your run");
      }
      report(null);
    } catch (error) {
      report(error);
    } finally {
      form.ended();
    }
  }

  return show;
}

// A slider for a number, a list for a choice, a box for yes and no; and the buttons to run and to stop.
function runForm(lab, start, stop) {
  const fields = Object.entries(lab.settings).map(([name, schema]) => field(name, schema, lab.quick[name] ?? schema.default));
  const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress of the run" });
  const startButton = element("button", { type: "submit", class: "main" }, "Run");
  const stopButton = element("button", { type: "button", class: "plain", onclick: stop }, "Stop");
  const status = element("span", { role: "status" });
  const live = element("div", { class: "live" });
  // A slider at its end may be beyond its maximum by a rounding of the browser: the values are checked here and by the server.
  const controls = element("form", { class: "run", novalidate: true, "aria-label": "Run this experiment" }, ...fields.map(({ label }) => label), startButton, stopButton, bar, status);
  controls.addEventListener("submit", (event) => {
    event.preventDefault();
    start(Object.fromEntries(fields.map(({ name, read }) => [name, read()])));
  });
  const show = (isRunning) => [startButton.disabled, stopButton.hidden, bar.hidden] = [isRunning, !isRunning, !isRunning];
  show(false);
  return {
    element: element("div", {}, element("h3", {}, "Run it yourself"), element("p", { class: "quiet" }, `Set for a run of seconds. “Break it”: ${lab.broken}`), controls, live),
    started(curve) {
      live.replaceChildren(curve);
      status.textContent = "";
      bar.value = 0;
      show(true);
    },
    progress: (done) => { bar.value = done; },
    ended() {
      show(false);
      live.replaceChildren();
      status.textContent = "The run has ended.";
    },
  };
}

function field(name, schema, value) {
  const words = name === "broken" ? "break it" : name.replaceAll("_", " ");
  if (schema.enum) {
    const select = element("select", {}, ...schema.enum.map((choice) => element("option", { selected: choice === value }, choice)));
    return { name, label: element("label", { title: schema.description }, words, select), read: () => select.value };
  }
  if (schema.type === "boolean") {
    const box = element("input", { type: "checkbox", checked: value });
    return { name, label: element("label", { class: "tick", title: schema.description }, box, words), read: () => box.checked };
  }
  return { name, ...numberField(words, schema, value) };
}

// Numbers over a wide range move by factors, so that small ones can be chosen too.
function numberField(words, { type, minimum, maximum, description }, value) {
  const byFactors = minimum > 0 && maximum / minimum > 50;
  const [to, back] = byFactors ? [Math.log, Math.exp] : [(number) => number, (number) => number];
  const written = (number) => (type === "integer" ? Math.round(number) : Number(number.toPrecision(2)));
  const clamped = (number) => Math.min(maximum, Math.max(minimum, written(number)));
  const shown = element("b", {}, String(value));
  const slider = element("input", { type: "range", min: to(minimum), max: to(maximum), step: byFactors || type === "number" ? "any" : 1, value: to(value) });
  let current = value;
  slider.addEventListener("input", () => {
    current = clamped(back(Number(slider.value)));
    shown.textContent = String(current);
    slider.setAttribute("aria-valuetext", shown.textContent);
  });
  slider.setAttribute("aria-valuetext", String(value));
  return { label: element("label", { title: description }, element("span", {}, `${words}: `, shown), slider), read: () => current };
}

// The newest curves of a run, drawn as they grow. A point that goes back begins its curve again.
function liveCurve({ live: [xLabel, yLabel] }) {
  const made = element("div", { class: "picture" });
  const curves = new Map();
  let drawing = false;
  const axis = (label, log) => ({ label, log, low: null, high: null });

  function draw() {
    drawing = false;
    const series = [...curves].slice(-MOST_CURVES).map(([name, points]) => ({ name, ...points }));
    const all = series.flatMap(({ y }) => y);
    const log = all.every((value) => value > 0) && Math.max(...all) > 20 * Math.min(...all);
    const width = Math.round(Math.min(720, Math.max(260, made.clientWidth)));
    made.replaceChildren(picture({ kind: "lines", title: "The run so far", x: axis(xLabel, false), y: axis(yLabel, log), series }, width));
  }

  function add({ curve, x, y }) {
    if (!curve) return;
    const points = curves.get(curve);
    if (points && x > points.x.at(-1)) [points.x, points.y] = [[...points.x, x], [...points.y, y]];
    else curves.delete(curve), curves.set(curve, { x: [x], y: [y] });
    if (!drawing) drawing = Boolean(requestAnimationFrame(draw));
  }
  return { element: made, add };
}
