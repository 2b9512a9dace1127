// The tab of worked examples: inputs and stated numbers are fields, and every step is computed again while one types.

import { address, goTo, restate } from "../address.js";
import { get, post } from "./api.js";
import { element, place } from "../dom.js";
import { aborted, buttonList, report } from "./session.js";
import { sheetTools, sharedSheet } from "./sheets.js";
import { drawExample } from "../worked/example.js";

const FIRST = "W6";
const OWN = "own"; // in the address: a sheet of one's own, which only this page has
const PAUSE = 120; // milliseconds without a key until the example is computed again

export function startWorked() {
  let opened = null;
  return (settings) => {
    opened ||= Promise.all([get("/api/worked"), get("/api/templates")]).then(([examples, templates]) => open(examples, templates)).catch((error) => {
      opened = null;
      report(error);
    });
    return opened.then((page) => sharedSheet(settings).then((text) => (text ? page?.openSheet({ sheet: text }) : page?.show(settings)))).catch(report);
  };
}

function open(examples, templates) {
  let computing = new AbortController();
  let timer = 0;
  let own = null; // the text of one's own sheet, while it is shown
  let shown = null; // the id of the example that is shown
  let last = null; // the text of one's own sheet, also while an example is shown
  const tools = sheetTools(templates, openSheet, () => own);
  const mark = buttonList(place("examples"), examples.map(({ id, title }) => [element("b", {}, id), title]), (at) => (examples[at].id === shown ? choose(at) : goTo("worked", { example: examples[at].id })), "true");
  place("sheet-tools").replaceChildren(tools.node);

  function draw(example, request, again) {
    computing.abort();
    clearTimeout(timer);
    const reset = element("button", { type: "button", class: "plain", onclick: again }, "As it was");
    const view = drawExample(place("example"), example, () => {
      clearTimeout(timer);
      timer = setTimeout(() => recompute(request(), view), PAUSE);
    }, reset);
    report(null);
  }

  function show({ example: asked }) {
    if (asked === OWN && last !== null) return shown === OWN || openSheet({ sheet: last });
    const at = examples.findIndex(({ id }) => id === asked);
    const id = at < 0 ? FIRST : asked;
    if (at < 0 && address().tab === "worked") restate("worked", { example: id });
    if (shown !== id) choose(examples.findIndex((example) => example.id === id));
    return null;
  }

  function choose(at) {
    own = null;
    shown = examples[at].id;
    tools.show(null);
    mark(at);
    draw(examples[at], () => ({ id: examples[at].id }), () => choose(at));
  }

  // A sheet of one's own, from its text or from a template: { sheet } or { id }. Rejects with what is wrong with it.
  async function openSheet(asked) {
    const example = await post("/api/worked", { id: "sheet", ...asked });
    own = last = example.sheet;
    if (shown !== OWN && address().tab === "worked") goTo("worked", { example: OWN });
    shown = OWN;
    mark(-1);
    tools.show(own);
    draw(example, () => ({ id: "sheet", sheet: own }), () => openSheet(asked));
  }

  async function recompute(request, view) {
    computing.abort();
    computing = new AbortController();
    try {
      const checked = await post("/api/worked", { ...request, ...view.read() }, computing.signal);
      view.update(checked);
      view.complain([]);
      if (checked.sheet) tools.show(own = last = checked.sheet);
      report(null);
    } catch (error) {
      if (aborted(error)) return;
      const rest = view.complain(problemsOf(error));
      report(rest.length ? error : null);
    }
  }

  return { openSheet, show };
}

// "inputs.Q: 'x' is not a number", line by line.
function problemsOf(error) {
  return error.message.split("\n").map((line) => {
    const [, kind, name, text] = /^(inputs|stated)\.(\w+): (.*)$/i.exec(line) ?? [];
    return { kind: kind?.toLowerCase(), name, text: text ?? line };
  });
}
