// One checked worked example: its inputs, every step with its formula and verdict, and the right numbers beside the stated ones.

import { element } from "../dom.js";
import { editable, readable } from "./numbers.js";

const MARKS = { right: "✓", rounded: "≈", carried: "↳", wrong: "✗" };
export const MEANINGS = {
  right: "the true value, rounded to the digits written", rounded: "less than one unit of the last digit away",
  carried: "follows from an earlier mistake", wrong: "a new mistake",
};

const label = (verdict, count = "") => `${MARKS[verdict]} ${count} ${verdict}`.replace("  ", " ");

// How many steps have each verdict: [[verdict, "✗ 3 wrong"], …], from best to worst.
export function tally(steps) {
  const count = (verdict) => steps.filter((step) => step.verdict === verdict).length;
  return Object.keys(MARKS).filter(count).map((verdict) => [verdict, label(verdict, count(verdict))]);
}

// Formulas come as MathML, in which every text is escaped.
function typeset(mathml) {
  const spaced = mathml.replace("<math", '<math xmlns="http://www.w3.org/1998/Math/MathML"');
  return document.importNode(new DOMParser().parseFromString(spaced, "application/xml").documentElement, true);
}

// Draws into `body`. With `changed`, inputs and stated numbers are fields, and it is called after every change;
// `button` stands beside the title.
export function drawExample(body, example, changed = null, button = null) {
  const inputs = example.inputs.map((input) => ({
    ...input, fields: changed && editable(input.written, input.name, changed), problem: element("p", { class: "cause", role: "alert", hidden: true }) }));
  const steps = example.steps.map((step) => drawStep(step, changed));
  const counts = element("p", { class: "tally", role: "status" });
  const parts = { inputs, stated: steps };

  function update(checked) {
    checked.steps.forEach((step, at) => steps[at].update(step));
    counts.replaceChildren(...tally(checked.steps).map(([verdict, text]) =>
      element("span", { class: verdict, title: MEANINGS[verdict] }, text)));
    // What must be scrolled to be read must be reached by keyboard.
    const wide = [...body.querySelectorAll(".formula, .scroll:not(:has(input))")].filter((part) => part.scrollWidth > part.clientWidth);
    for (const part of wide) part.tabIndex = 0;
  }

  body.replaceChildren(
    element("div", { class: "title" }, element("h2", {}, element("span", { class: "quiet" }, `${example.id}  `), example.title), button),
    example.about && element("p", { class: "quiet" }, example.about), counts,
    element("div", { class: "inputs", role: "group", "aria-label": "Inputs" }, ...inputs.map((input) => element("div", { class: "named" },
      typeset(input.symbol), element("span", {}, "="), input.fields ? input.fields.node : readable(input.written), input.problem))),
    element("ol", { class: "working" }, ...steps.map((step) => step.node)));
  update(example);
  return {
    update,
    // Problems beside the fields they are in: [{ kind: "inputs" or "stated", name, text }, …]; returns those of no field.
    complain(problems) {
      for (const part of [...inputs, ...steps].filter(({ fields }) => fields)) showProblem(part, []);
      return problems.filter(({ kind, name, text }) => {
        const part = parts[kind]?.find((each) => each.name === name && each.fields);
        if (part) showProblem(part, problems.filter((each) => each.kind === kind && each.name === name).map((each) => each.text));
        return !part && text;
      });
    },
    read: () => ({
      inputs: Object.fromEntries(inputs.map((input) => [input.name, input.fields.read()])),
      stated: Object.fromEntries(steps.filter((step) => step.fields).map((step) => [step.name, step.fields.read()])),
    }),
  };
}

function showProblem({ problem, fields }, texts) {
  problem.hidden = texts.length === 0;
  problem.textContent = texts.join(" ");
  fields.complain(texts);
}

function drawStep(step, changed) {
  const fields = changed && step.stated !== null && editable(step.stated, step.name, changed);
  const verdict = element("div", { class: "verdict" });
  const cause = element("p", { class: "cause" });
  const problem = element("p", { class: "cause", role: "alert", hidden: true });
  const blocks = element("div", { class: "blocks" });
  const node = element("li", {}, verdict, element("div", {}, element("div", { class: "formula" }, typeset(step.formula)),
    step.note && element("p", { class: "note" }, step.note),
    step.ours && element("p", { class: "note" }, "What is stated here is not in the source."), problem, cause, blocks));
  const block = (heading, content) => element("div", { class: "block" }, element("p", { class: "quiet" }, heading), content);
  const stated = fields && block("stated", fields.node);

  function update(checked) {
    const allRight = checked.elements !== null && [checked.elements].flat(Infinity).every((each) => each === "right");
    verdict.className = `verdict ${checked.verdict || ""}`;
    verdict.textContent = checked.verdict ? label(checked.verdict) : checked.open ? "open" : "not stated";
    cause.hidden = !(checked.hint || checked.cause);
    cause.textContent = [checked.hint && `Hint: ${checked.hint}.`, checked.cause && `Likely cause: ${checked.cause}.`].filter(Boolean).join(" ");
    if (fields) fields.mark(checked.elements);
    const { right, from_stated: followed } = checked;
    blocks.replaceChildren(...[
      stated || (checked.stated !== null && block("stated", readable(checked.stated, undefined, checked.elements))),
      right && (changed || !allRight) && block("right", readable(right.values, right.shape)),
      followed && checked.verdict !== "right" && block("from the stated steps", readable(followed.values, followed.shape)),
    ].filter(Boolean));
  }

  return { name: step.name, node, fields, problem, update };
}
