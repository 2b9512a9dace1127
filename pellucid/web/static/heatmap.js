// A matrix as a heatmap: the one picture that every stage of a trace is drawn with. Colours come from the theme.

import { element, formula, number, percent, rounded } from "./dom.js";

// A colour of the theme as [red, green, blue].
export function colour(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

export const mix = (from, to, share) => from.map((value, channel) => Math.round(value + (to[channel] - value) * share));

// From a value to a colour. Weights and masks: 0 to 1, small values lifted so that they can be seen. Others: both signs.
function palette(kind, largest) {
  const [low, middle, high, negative, masked] = ["low", "middle", "high", "negative", "masked"].map(colour);
  const rise = (share) => (share < 0.5 ? mix(low, middle, 2 * share) : mix(middle, high, 2 * share - 1));
  return (value) => {
    if (value === null) return masked;
    if (kind !== "signed") return rise(Math.min(1, Math.max(0, value)) ** 0.6);
    const share = largest ? Math.min(1, Math.abs(value) / largest) ** 0.75 : 0;
    return value < 0 ? mix(low, negative, share) : rise(share);
  };
}

const largestOf = (values) => values.reduce((most, row) => row.reduce((largest, value) => Math.max(largest, Math.abs(value)), most), 0);

// A canvas of one pixel per cell, which CSS scales up without smoothing.
function pixels(values, kind, largest, [width, height], attributes = {}) {
  const canvas = element("canvas", { ...attributes, width: values[0].length, height: values.length });
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  canvas.paint = () => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const colourOf = palette(kind, largest);
    values.flat().forEach((value, at) => image.data.set([...colourOf(value), 255], 4 * at));
    context.putImageData(image, 0, 0);
  };
  canvas.paint();
  return canvas;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const drawn of document.querySelectorAll("canvas, .numbers")) drawn.paint();
});

// The matrix alone, in a square of `size` pixels at most.
export function thumbnail(values, size, kind) {
  const cell = size / Math.max(values.length, values[0].length);
  return pixels(values, kind, largestOf(values), [values[0].length * cell, values.length * cell]);
}

function colourScale(kind, largest) {
  const [from, to] = kind === "signed" ? [-largest, largest] : [0, 1];
  const ramp = Array.from({ length: 64 }, (_, at) => from + ((to - from) * at) / 63);
  const [first, last] = { signed: [number(from), number(to)], weights: ["0 %", "100 %"], mask: ["0", "1"] }[kind];
  return element("span", { class: "legend" }, first, pixels([ramp], kind, largest, [96, 8]), last);
}

// The words beside the rows, or turned above the columns, of cells of `size` pixels; none where they could not be read.
function labels(words, size, side) {
  const shown = size < 9 ? [] : words;
  const made = element("div", { class: `labels ${side}`, "aria-hidden": "true" }, ...shown.map((word) => element("span", {}, word)));
  made.style.setProperty("--cell", `${size}px`);
  return made;
}

// Percents of weights, the 0 and 1 of a mask, one decimal of everything else, in the ink that can be read on the cell.
const WRITE = {
  weights: (value) => (value < 0.01 ? "" : `${Math.round(100 * value)}%`),
  mask: (value) => value,
  signed: (value) => rounded(value, 1),
};

function writtenNumbers(values, kind, largest, cell) {
  const write = (value) => (value === null ? "" : WRITE[kind](value));
  const made = element("div", { class: "numbers", "aria-hidden": "true" }, ...values.flat().map((value) => element("span", {}, write(value))));
  made.style.grid = `auto-flow ${cell[1]}px / repeat(${values[0].length}, ${cell[0]}px)`;
  made.paint = () => {
    const colourOf = palette(kind, largest);
    values.flat().forEach((value, at) => {
      const [red, green, blue] = colourOf(value);
      made.children[at].className = red * 0.3 + green * 0.59 + blue * 0.11 < 140 ? "on-dark" : "on-light";
    });
  };
  made.paint();
  return made;
}

// A weight is a share as well: 0.734 (73.4 %).
const READ = { weights: (value) => `${number(value)} (${percent(value)})`, mask: number, signed: number };

// A figure: a caption, the matrix with its row and column labels, and a line with the value of the cell that is pointed
// at. The arrow keys move from cell to cell; `open(row, column)` follows a click or Enter. Without `columns` the columns
// are features. `name` is the recorded value that is shown, `at` the cell that is open: a row and a column, or null and a
// column for all of it; `opens` says what Enter does.
export function heatmap({ values, rows, columns = null, kind = "signed", title, note = "", cell, name = null, open = null, at = null, opens = "opens the computation of a cell" }) {
  const [high, wide] = [values.length, values[0].length];
  const largest = largestOf(values);
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const [cursor, opened] = ["cursor", "cursor opened"].map((kindOf) => element("div", { class: kindOf, hidden: true }));
  const [beside, above] = [labels(rows, cell[1], "beside"), labels(columns ?? [], cell[0], "above")];
  let current = null; // the row and the column that are read

  function mark(box, [row, column]) {
    box.hidden = false;
    box.style.inset = `${(row ?? 0) * cell[1]}px auto auto ${column * cell[0]}px`;
    [box.style.width, box.style.height] = [`${cell[0]}px`, `${cell[1] * (row === null ? high : 1)}px`];
  }

  function read(row, column) {
    current = row >= 0 && column >= 0 && row < high && column < wide ? [row, column] : null;
    const where = current && `${rows[row]} · ${columns ? columns[column] : `feature ${column}`}`;
    readout.textContent = current ? `${where}:  ${READ[kind](values[row][column])}` : "";
    for (const [group, chosen] of [[beside, row], [above, column]]) {
      [...group.children].forEach((label, index) => label.classList.toggle("current", index === chosen));
    }
    cursor.hidden = !current;
    if (current) mark(cursor, current);
  }

  function move(event) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter" && open && current) open(...current);
    if (!by) return;
    event.preventDefault();
    const [row, column] = current ? [current[0] + by[0], current[1] + by[1]] : [at?.[0] ?? 0, at?.[1] ?? 0];
    read(Math.min(high - 1, Math.max(0, row)), Math.min(wide - 1, Math.max(0, column)));
  }

  const cellAt = ({ offsetX, offsetY }) => [Math.floor(offsetY / cell[1]), Math.floor(offsetX / cell[0])];
  const canvas = pixels(values, kind, largest, [wide * cell[0], high * cell[1]], {
    // A picture that takes keys: assistive technology passes them on to an application only.
    tabindex: 0, role: "application", "aria-roledescription": "matrix", class: open ? "openable" : null, "data-control": name && `cells-${name}`,
    "aria-label": `${title.replace(/[_{}]/g, "")}: ${high} by ${wide}. The arrow keys read cell by cell${open ? `, Enter ${opens}` : ""}.`,
    onpointermove: (event) => read(...cellAt(event)), onpointerleave: () => read(-1, -1), onkeydown: move,
    onclick: open === null ? null : ((event) => { read(...cellAt(event)); if (current) open(...current); }),
  });
  if (at && at[0] < high && at[1] < wide) mark(opened, at);
  return element("figure", { "data-value": name }, element("figcaption", {}, formula(title), element("small", {}, note)),
    element("div", { class: "scroll heatmap" }, above, beside,
      element("div", { class: "cells" }, canvas, cell[0] >= 26 && cell[1] >= 20 && writtenNumbers(values, kind, largest, cell), opened, cursor)),
    element("div", { class: "reading" }, colourScale(kind, largest), readout));
}
