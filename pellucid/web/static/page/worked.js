// The tab of worked examples: inputs and stated numbers are fields, and every step is computed again while one types.

import { get, post } from "./api.js";
import { element, place } from "../dom.js";
import { aborted, buttonList, report } from "./session.js";
import { sheetTools, sharedSheet } from "./sheets.js";
import { drawExample } from "../worked/example.js";

const PAUSE = 120; // milliseconds without a key until the example is computed again

export function startWorked() {
  let opened = null;
  return (settings) => {
    opened ||= Promise.all([get("/api/worked"), get("/api/templates")]).then(([examples, templates]) => open(examples, templates)).catch((error) => {
      opened = null;
      report(error);
    });
    return opened.then((page) => sharedSheet(settings).then((text) => text && page?.openSheet({ sheet: text }))).catch(report);
  };
}

function open(examples, templates) {
  let computing = new AbortController();
  let timer = 0;
  let own = null; // the text of one's own sheet
  const tools = sheetTools(templates, openSheet, () => own);
  const mark = buttonList(place("examples"), examples.map(({ id, title }) => [element("b", {}, id), title]), choose, "true");
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

  function choose(at) {
    own = null;
    tools.show(null);
    mark(at);
    draw(examples[at], () => ({ id: examples[at].id }), () => choose(at));
  }

  // A sheet of one's own, from its text or from a template: { sheet } or { id }. Rejects with what is wrong with it.
  async function openSheet(asked) {
    const example = await post("/api/worked", { id: "sheet", ...asked });
    own = example.sheet;
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
      if (checked.sheet) tools.show(own = checked.sheet);
      report(null);
    } catch (error) {
      if (aborted(error)) return;
      const rest = view.complain(problemsOf(error));
      report(rest.length ? error : null);
    }
  }

  choose(Math.max(0, examples.findIndex((example) => example.id === "W6")));
  return { openSheet };
}

// "inputs.Q: 'x' is not a number", line by line.
function problemsOf(error) {
  return error.message.split("\n").map((line) => {
    const [, kind, name, text] = /^(inputs|stated)\.(\w+): (.*)$/i.exec(line) ?? [];
    return { kind: kind?.toLowerCase(), name, text: text ?? line };
  });
}
