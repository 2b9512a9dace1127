// Matrices as coloured cells, several side by side. Colours come in a few steps, so that a legend can be read off.

import { svg } from "../dom.js";
import { LETTER, round, short, text } from "./axes.js";

const STEPS = 8;
const [SMALLEST, LARGEST] = [120, 260]; // pixels of a panel
const NUMBERS = 30; // pixels that a cell with its number needs

// The class of the colour of a value: c0 to c8, or n1 to n8 below zero.
function shade(value, largest) {
  const step = largest ? Math.min(STEPS, Math.round((STEPS * Math.abs(value)) / largest)) : 0;
  return value < 0 && step ? `n${step}` : `c${step}`;
}

export function matrix({ panels, rows, columns, signed }, width) {
  const { values } = panels[0];
  const largest = Math.max(...panels.flatMap((panel) => panel.values.flat().map(Math.abs)));
  const left = rows.length ? Math.max(...rows.map((word) => word.length)) * LETTER + 8 : 0;
  const above = columns.length ? Math.max(...columns.map((word) => word.length)) * LETTER * 0.85 + 10 : 0;
  const perLine = Math.max(1, Math.min(panels.length, Math.floor((width + 16) / (SMALLEST + left + 16))));
  const room = Math.min(panels.length > 1 ? LARGEST : 420, width / perLine - left - 16);
  const cell = Math.min(44, room / values[0].length, Math.max(16, (1.3 * room) / values.length));
  const [panelWidth, panelHeight] = [left + cell * values[0].length + 16, 22 + above + cell * values.length + 14];
  const drawn = panels.flatMap((panel, at) =>
    drawPanel(panel, { rows, columns, left, above, cell, largest, x: (at % perLine) * panelWidth, y: Math.floor(at / perLine) * panelHeight }));
  const height = Math.ceil(panels.length / perLine) * panelHeight;
  return { height: height + 34, drawn: [...drawn, ...ramp(largest, signed, height)] };
}

function drawPanel({ label, values }, { rows, columns, left, above, cell, largest, x, y }) {
  const [startX, startY] = [x + left, y + 22 + above];
  const words = cell >= 9 ? [
    ...rows.map((word, at) => text(startX - 6, startY + (at + 0.5) * cell + 4, word, { class: "tick", "text-anchor": "end" })),
    ...columns.map((word, at) => {
      const [wordX, wordY] = [round(startX + (at + 0.5) * cell + 4), round(startY - 6)];
      return text(wordX, wordY, word, { class: "tick", transform: `rotate(-60 ${wordX} ${wordY})` });
    }),
  ] : [];
  const cells = values.flatMap((row, at) => runs(row.map((value) => shade(value, largest))).map(([name, from, count]) =>
    svg("rect", { class: name, x: round(startX + from * cell), y: round(startY + at * cell), width: round(count * cell + 0.3), height: round(cell + 0.3) })));
  const numbers = cell < NUMBERS ? [] : values.flatMap((row, at) => row.map((value, column) =>
    text(startX + (column + 0.5) * cell, startY + (at + 0.5) * cell + 4, value.toFixed(2).replace("-", "−").replace(/^(−?)0\./, "$1."),
      { class: /[5-8]/.test(shade(value, largest)) ? "on-dark" : "tick", "text-anchor": "middle" })));
  return [text(startX, y + 14, label), ...words, ...cells, ...numbers];
}

// Neighbours of one colour as one: [name, first, count].
function runs(names) {
  return names.reduce((found, name, at) => {
    if (found.length && found.at(-1)[0] === name) found.at(-1)[2] += 1;
    else found.push([name, at, 1]);
    return found;
  }, []);
}

function ramp(largest, signed, y) {
  const names = [...(signed ? Array.from({ length: STEPS }, (_, at) => `n${STEPS - at}`) : []), ...Array.from({ length: STEPS + 1 }, (_, at) => `c${at}`)];
  const first = signed ? short(-largest) : "0";
  const start = first.length * LETTER + 10;
  return [
    text(0, y + 16, first, { class: "tick" }),
    ...names.map((name, at) => svg("rect", { class: name, x: round(start + at * 10), y: y + 5, width: 10.3, height: 13 })),
    text(start + names.length * 10 + 6, y + 16, short(largest), { class: "tick" }),
  ];
}
