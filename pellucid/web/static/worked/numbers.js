// Numbers, vectors and matrices of a worked example: to read, or in fields to change.

import { element } from "../dom.js";

const [MOST_ROWS, MOST_COLUMNS] = [24, 16]; // shown of what is only read

// The rows of a value of any shape: a single number is one row of one, matrices stand below each other.
const rowsOf = (values) => (!Array.isArray(values) ? [[values]] : values.some(Array.isArray) ? values.flatMap(rowsOf) : [values]);
const shapeOf = (values) => (Array.isArray(values) ? [values.length, ...shapeOf(values[0])] : []);
// Nested lists of the same shape, with what `next` gives.
const alike = (values, next) => (Array.isArray(values) ? values.map((value) => alike(value, next)) : next());

function layOut(values, cells) {
  if (!Array.isArray(values)) return cells[0][0];
  return element("div", { class: "scroll" }, element("table", { class: "matrix", role: "presentation" },
    element("tbody", {}, ...cells.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))))));
}

// Numbers to read. What is stated has `verdicts` in its shape: wrong and carried numbers are struck.
export function readable(values, shape = shapeOf(values), verdicts = undefined) {
  const [rows, marks] = [rowsOf(values), rowsOf(verdicts)];
  const kept = rows.slice(0, MOST_ROWS).map((row, y) => row.slice(0, MOST_COLUMNS).map((value, x) => cell(value, marks[y]?.[x])));
  const made = layOut(values, kept);
  const cut = shape.length && (kept.length < (shape.at(-2) ?? 1) || kept[0].length < shape.at(-1));
  return cut ? element("div", {}, made, element("p", { class: "quiet" }, `the beginning of ${shape.join(" × ")}`)) : made;
}

function cell(value, verdict) {
  const struck = verdict === "wrong" || verdict === "carried";
  const text = /^[-−]?(\d|\.|inf$)/.test(value) ? value.replace("-", "−").replace("inf", "∞") : value;
  return element("span", { class: `number ${verdict || ""}` }, struck ? element("del", {}, text) : text,
    verdict === "rounded" && element("span", { "aria-hidden": "true" }, " ≈"),
    verdict && verdict !== "right" && element("span", { class: "spoken" }, ` ${verdict}`));
}

// Fields in the shape of `values`. `changed` is called after every change.
export function editable(values, label, changed) {
  const rows = rowsOf(values);
  const named = (row, column) => (!Array.isArray(values) ? label
    : rows.length > 1 ? `${label}, row ${row + 1}, column ${column + 1}` : `${label}, place ${column + 1}`);
  const fields = rows.map((row, y) => row.map((value, x) => field(value, named(y, x), changed)));
  return {
    node: layOut(values, fields),
    read() {
      const all = fields.flat();
      return alike(values, () => all.shift().value);
    },
    // Marks the fields whose content stands in quotation marks in one of the texts.
    complain(texts) {
      for (const made of fields.flat()) {
        made.toggleAttribute("aria-invalid", false);
        if (texts.some((text) => text.includes(`'${made.value.trim()}'`))) made.setAttribute("aria-invalid", "true");
      }
    },
    // Verdicts in the shape of the values; null where nothing is stated.
    mark(verdicts) {
      if (verdicts === null) fields.flat().forEach((made) => { made.className = ""; });
      else rowsOf(verdicts).forEach((row, y) => row.forEach((verdict, x) => {
        fields[y][x].className = verdict || "";
        fields[y][x].setAttribute("aria-label", [named(y, x), verdict].filter(Boolean).join(", "));
      }));
    },
  };
}

function field(value, label, changed) {
  const made = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", value, "aria-label": label,
    oninput: edited, onkeydown: (event) => {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!by || !/^[-−]?\d+(\.\d+)?$/.test(made.value)) return;
      event.preventDefault();
      made.value = stepped(made.value, by);
      edited();
    } });
  const fit = () => { made.style.width = `${Math.max(3, made.value.length) + 1.2}ch`; };
  function edited() {
    fit();
    changed();
  }
  fit();
  return made;
}

// A number with its last digit one up or down, written with as many digits.
function stepped(text, by) {
  const digits = (text.split(".")[1] || "").length;
  const written = (Number(text.replace("−", "-")) + by / 10 ** digits).toFixed(digits);
  return Number(written) === 0 ? written.replace("-", "") : written;
}
