// One lab: what the notes say, how it is measured, the verdict, and its figures.

import { element, paragraph } from "../dom.js";
import { drawFigure } from "./figure.js";

const WORDS = [
  ["question", "Question"], ["notes", "What the notes say"], ["method", "Method"], ["criterion", "Criterion, fixed before the run"],
  ["refuted_by", "What would have refuted it"],
];

// Draws a lab; `controls` stand between its words and its result.
export function drawLab(article, lab, controls = []) {
  const result = element("div", { class: "result" });
  const words = WORDS.flatMap(([name, heading]) => [element("dt", {}, heading), element("dd", {}, lab[name])]);
  article.replaceChildren(element("div", { class: "title" }, element("h2", {}, lab.title), element("span", { class: "quiet" }, lab.claims)),
    element("dl", { class: "words" }, ...words), ...controls, result);
  if (lab.result) drawResult(result, lab.result, "Committed result");
  return result;
}

export function drawResult(place, { verdict, figures, seconds, remark, command }, from) {
  place.replaceChildren(
    paragraph(element("strong", { class: `outcome ${verdict.outcome.replace(" ", "-")}` }, verdict.outcome), " ", verdict.sentence),
    element("p", { class: "quiet origin" }, `${from}: `, element("code", {}, command), `, ${seconds} s of CPU time.`, remark && ` ${remark}`),
    element("div", { class: "figures" }, ...figures.map(drawFigure)));
}
