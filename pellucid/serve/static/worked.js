// Worked examples: inputs and stated numbers as fields, every step computed again while one types.

import { get, givenUp, post } from "./api.js";
import { element } from "./heatmap.js";
import { formulaOf } from "./mathml.js";
import { editable, shown } from "./numbers.js";

const PAUSE = 120; // milliseconds without a key until the example is computed again
const MARKS = { right: "✓", rounded: "≈", carried: "↳", wrong: "✗" };
const MEANINGS = {
  right: "the true value, rounded to the digits written", rounded: "less than one unit of the last digit away",
  carried: "follows from a mistake made before", wrong: "a new mistake",
};
const place = (id) => document.getElementById(id);

export function startWorked(session) {
  let examples = null;
  let work = new AbortController();

  async function open() {
    if (examples) return;
    try {
      examples = await get("/api/worked");
    } catch (fault) {
      session.tell(fault);
      return;
    }
    place("examples").append(...examples.map((example) => element("li", {},
      element("button", { type: "button", onclick: () => choose(example) }, element("b", {}, example.id), example.title))));
    choose(examples.find((example) => example.id === "W6") || examples[0]);
  }

  function choose(example) {
    work.abort();
    [...place("examples").querySelectorAll("button")].forEach((button, at) => {
      if (examples[at] !== example) return button.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      return button.scrollIntoView({ block: "nearest" });
    });
    let timer = 0;
    const sheet = drawExample(example, () => {
      clearTimeout(timer);
      timer = setTimeout(recompute, PAUSE);
    }, () => choose(example));

    async function recompute() {
      work.abort();
      work = new AbortController();
      try {
        sheet.update(await post("/api/worked", { id: example.id, ...sheet.read() }, work.signal));
        session.tell(null);
      } catch (fault) {
        if (!givenUp(fault)) session.tell(fault);
      }
    }
  }

  return open;
}

function drawExample(example, changed, reset) {
  const inputs = example.inputs.map((input) => ({ ...input, fields: editable(input.written, input.name, changed) }));
  const steps = example.steps.map((step) => drawStep(step, changed));
  const tally = element("p", { class: "tally", role: "status" });

  function update(checked) {
    checked.steps.forEach((step, at) => steps[at].update(step));
    const counts = Object.keys(MARKS).map((verdict) => [verdict, checked.steps.filter((step) => step.verdict === verdict).length]);
    tally.replaceChildren(...counts.filter(([, count]) => count).map(([verdict, count]) =>
      element("span", { class: verdict, title: MEANINGS[verdict] }, `${MARKS[verdict]} ${count} ${verdict}`)));
    // What must be scrolled to be read must be reached by keyboard.
    for (const part of place("example").querySelectorAll(".formula, .scroll:not(:has(input))")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    }
  }

  place("example").replaceChildren(
    element("div", { class: "title" }, element("h2", {}, element("span", { class: "quiet" }, `${example.id}  `), example.title),
      element("button", { type: "button", class: "plain", onclick: reset }, "As it was")),
    example.about ? element("p", { class: "quiet" }, example.about) : "", tally,
    element("div", { class: "inputs", role: "group", "aria-label": "Inputs" }, ...inputs.map((input) => element("div", { class: "named" },
      formulaOf(input.symbol), element("span", {}, "="), input.fields.node))),
    element("ol", { class: "working" }, ...steps.map((step) => step.node)));
  update(example);
  return {
    update,
    read: () => ({
      inputs: Object.fromEntries(inputs.map((input) => [input.name, input.fields.read()])),
      stated: Object.fromEntries(steps.filter((step) => step.fields).map((step) => [step.name, step.fields.read()])),
    }),
  };
}

function drawStep(step, changed) {
  const fields = step.stated === null ? null : editable(step.stated, step.name, changed);
  const verdict = element("div", { class: "verdict" });
  const cause = element("p", { class: "cause" });
  const [right, followed] = [element("div", { class: "block" }), element("div", { class: "block" })];
  const block = (heading, content) => [element("p", { class: "quiet" }, heading), content];
  const node = element("li", {}, verdict, element("div", {}, element("div", { class: "formula" }, formulaOf(step.formula)),
    step.note ? element("p", { class: "note" }, step.note) : "", cause,
    element("div", { class: "blocks" }, fields ? element("div", { class: "block" }, ...block("stated", fields.node)) : "", right, followed)));

  function update(now) {
    verdict.className = `verdict ${now.verdict || ""}`;
    verdict.textContent = now.verdict ? `${MARKS[now.verdict]} ${now.verdict}` : "computed";
    cause.hidden = !now.cause;
    cause.textContent = now.cause ? `Likely cause: ${now.cause}.` : "";
    if (fields && now.elements !== null) fields.mark(now.elements);
    right.replaceChildren(...(now.right ? block(fields ? "right" : "", shown(now.right)) : []));
    followed.replaceChildren(...(now.from_stated && now.verdict !== "right" ? block("from the stated steps", shown(now.from_stated)) : []));
  }

  return { name: step.name, node, fields, update };
}
