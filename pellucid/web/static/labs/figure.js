// A figure of a lab: its title, the picture as SVG or a table, how to read it, and its numbers.

import { element, svg, table } from "../dom.js";
import { short } from "./axes.js";
import { matrix } from "./cells.js";
import { bars, lines, points } from "./chart.js";

const KINDS = { lines, points, bars, matrix };

// The picture alone, for a place of `width` pixels.
export function picture(figure, width) {
  const { height, drawn } = KINDS[figure.kind](figure, width);
  const size = { viewBox: `0 0 ${width} ${Math.ceil(height)}`, width, height: Math.ceil(height) };
  return svg("svg", { class: "chart", role: "img", "aria-label": figure.title, ...size }, ...drawn);
}

export function drawFigure(figure) {
  const body = element("div", { class: "picture" });
  const made = element("figure", { class: "lab-figure" }, element("figcaption", {}, figure.title), body,
    figure.note && element("p", { class: "quiet" }, figure.note), KINDS[figure.kind] && numbers(figure));
  if (!KINDS[figure.kind]) body.append(table(figure.headings, figure.rows));
  else new ResizeObserver(([{ contentRect }]) => body.replaceChildren(...(contentRect.width ? [picture(figure, fit(contentRect.width))] : []))).observe(made);
  return made;
}

const fit = (width) => Math.round(Math.min(720, Math.max(260, width)));

// What the picture shows, for those who read it rather than see it.
function numbers(figure) {
  const folded = element("details", {}, element("summary", {}, "Numbers"));
  folded.addEventListener("toggle", () => folded.childElementCount < 2 && folded.append(table(...TABLES[figure.kind](figure))));
  return folded;
}

const TABLES = {
  lines: ({ x, y, series }) => [["series", x.label, y.label], series.flatMap((each) => each.x.map((value, at) => [each.name, short(value), written(each.y[at])]))],
  points: ({ x, y, groups }) => [["", x.label, y.label], groups.flatMap((each) => each.x.map((value, at) => [each.labels?.[at] ?? each.name, short(value), written(each.y[at])]))],
  bars: ({ categories, groups, y }) => [[y.label, ...groups.map(({ name }) => name)], categories.map((category, at) => [category, ...groups.map(({ values, low, high }) =>
    written(values[at]) + (low[at] === high[at] ? "" : ` [${written(low[at])}, ${written(high[at])}]`))])],
  matrix: ({ panels, rows, columns }) => [["", "", ...(columns.length ? columns : panels[0].values[0].map((_, at) => String(at)))],
    panels.flatMap(({ label, values }) => values.map((row, at) => [label, rows[at] ?? String(at), ...row.map(written)]))],
};
const written = (value) => (value === null ? "none" : short(value));
