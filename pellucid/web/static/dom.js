// Elements, formulas, tables, and how numbers are written. Text enters the page as text: nothing is ever parsed as HTML.

export const place = (id) => document.getElementById(id);

export const element = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Absent children (null, undefined, false) are left out.
function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-")) made.setAttribute(key, value); // here "false" is a value
    else if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const paragraph = (...children) => element("p", {}, ...children);

// "W_Q X^T" with subscripts and superscripts; braces hold more than one character: d_{head}, e^{x_k}.
export const formula = (text) => element("span", { class: "formula" }, ...pieces(text));

function pieces(text) {
  return text.split(/([_^](?:\{[^}]*\}|.))/).map((piece) =>
    (/^[_^]/.test(piece) ? element(piece[0] === "_" ? "sub" : "sup", {}, ...pieces(piece.slice(1).replace(/[{}]/g, ""))) : piece));
}

// Cells are texts or elements; the row at `chosen` is emphasised.
export function table(headings, rows, chosen = -1) {
  const heading = (text) => element(text ? "th" : "td", { scope: text ? "col" : null }, text);
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": headings.filter(Boolean).join(", ") },
    element("table", {}, element("thead", {}, element("tr", {}, ...headings.map(heading))),
      element("tbody", {}, ...rows.map((cells, at) => element("tr", { class: at === chosen ? "chosen" : null },
        ...cells.map((cell) => element("td", {}, cell)))))));
}

// A real minus; and nothing that is rounded to zero is negative.
const signed = (text) => (Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−"));

// null is the score of what is masked.
export function number(value) {
  if (value === null) return "−∞";
  const size = Math.abs(value);
  return signed(size >= 100 ? value.toFixed(1) : size >= 0.001 || value === 0 ? value.toFixed(3) : value.toExponential(1));
}

export const rounded = (value, decimals) => signed(value.toFixed(decimals));

export const percent = (value) => (value > 0 && value < 0.001 ? "< 0.1 %" : `${(100 * value).toFixed(1)} %`);

// The place of the largest number in a list.
export const largestAt = (values) => values.indexOf(Math.max(...values));

// What was drawn anew takes back the focus it had: elements that stay the same for a reader have the same data-control.
export function refocus(where, control) {
  if (control) where.querySelector(`[data-control="${CSS.escape(control)}"]:not(:disabled)`)?.focus({ preventScroll: true });
}
