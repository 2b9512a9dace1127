// Numbers, vectors and matrices on the page: to read, and to change.

import { element } from "./heatmap.js";

// Rows of cells, whatever the shape: a single number is one row of one.
const rowsOf = (values) => (!Array.isArray(values) ? [[values]] : Array.isArray(values[0]) ? values : [values]);
const alike = (values, rows) => (!Array.isArray(values) ? rows[0][0] : Array.isArray(values[0]) ? rows : rows[0]);

function table(values, cells) {
  if (!Array.isArray(values)) return cells[0][0];
  return element("div", { class: "scroll" }, element("table", { class: "matrix", role: "presentation" },
    element("tbody", {}, ...cells.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))))));
}

export function shown({ values, shape }) {
  const rows = rowsOf(values);
  const cut = shape.length && (rows.length < (shape.at(-2) ?? 1) || rows[0].length < shape.at(-1));
  const made = table(values, rows.map((row) => row.map((value) => element("span", { class: "number" }, value))));
  return cut ? element("div", {}, made, element("p", { class: "quiet" }, `the beginning of ${shape.join(" × ")}`)) : made;
}

// Fields in the shape of `values`. `changed` is called after every change.
export function editable(values, label, changed) {
  const rows = rowsOf(values);
  const named = (row, column) => (!Array.isArray(values) ? label : rows.length > 1 ? `${label}, row ${row + 1}, column ${column + 1}` : `${label}, place ${column + 1}`);
  const fields = rows.map((row, y) => row.map((value, x) => field(value, named(y, x), changed)));
  return {
    node: table(values, fields),
    read: () => alike(values, fields.map((row) => row.map((each) => each.value))),
    // Verdicts in the shape of the values.
    mark(verdicts) {
      rowsOf(verdicts).forEach((row, y) => row.forEach((verdict, x) => {
        fields[y][x].className = verdict || "";
        fields[y][x].setAttribute("aria-label", [named(y, x), verdict].filter(Boolean).join(", "));
      }));
    },
  };
}

function field(value, label, changed) {
  const made = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", value, "aria-label": label });
  const fit = () => { made.style.width = `${Math.max(3, made.value.length) + 1.2}ch`; };
  const edited = () => { fit(); changed(); };
  made.addEventListener("input", edited);
  made.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!by || !/^[-−]?\d+(\.\d+)?$/.test(made.value)) return;
    event.preventDefault();
    made.value = turned(made.value, by);
    edited();
  });
  fit();
  return made;
}

// A number with its last digit one up or down, written with as many digits.
export function turned(text, by) {
  const digits = (text.split(".")[1] || "").length;
  const value = Number(text.replace("−", "-")) + by / 10 ** digits;
  const written = value.toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written;
}
