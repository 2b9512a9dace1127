// The tab of worked examples: inputs and stated numbers are fields, and every step is computed again while one types.

import { get, post } from "./api.js";
import { element, place } from "../dom.js";
import { buttonList, report } from "./session.js";
import { drawExample } from "../worked/example.js";

const PAUSE = 120; // milliseconds without a key until the example is computed again

export function startWorked() {
  let examples = null;
  return () => examples ||= get("/api/worked").then(open).catch((error) => {
    examples = null;
    report(error);
  });
}

function open(examples) {
  const mark = buttonList(place("examples"), examples.map(({ id, title }) => [element("b", {}, id), title]), choose, "true");
  let computing = new AbortController();
  let timer = 0;

  function choose(at) {
    computing.abort();
    clearTimeout(timer);
    const reset = element("button", { type: "button", class: "plain", onclick: () => choose(at) }, "As it was");
    const view = drawExample(place("example"), examples[at], () => {
      clearTimeout(timer);
      timer = setTimeout(() => recompute(examples[at].id, view), PAUSE);
    }, reset);
    mark(at);
  }

  async function recompute(id, view) {
    computing.abort();
    computing = new AbortController();
    try {
      view.update(await post("/api/worked", { id, ...view.read() }, computing.signal));
      report(null);
    } catch (error) {
      report(error);
    }
  }

  choose(Math.max(0, examples.findIndex((example) => example.id === "W6")));
}
