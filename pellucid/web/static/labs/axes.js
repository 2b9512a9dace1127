// Axes: where a number lies on one, its ticks, and how these are written. A chart is so wide as the place it is drawn in.

import { svg } from "../dom.js";

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
export const LETTER = 6.9; // pixels that a letter of a chart takes, on average and a little more

export const text = (x, y, content, attributes = {}) => svg("text", { x: round(x), y: round(y), ...attributes }, content);
export const round = (value) => Math.round(10 * value) / 10;

// A number in few letters: 0.25, 1,000, 2×10⁻⁷.
export function short(value) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 0.001 && size < 100000)) {
    return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 6 : 3 }).replace("-", "−");
  }
  const [digits, exponent] = value.toExponential(1).replace(".0", "").split("e");
  const power = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPT[digit]).join("");
  return `${digits === "1" ? "" : `${digits.replace("-", "−")}×`}10${exponent < 0 ? "⁻" : ""}${power}`;
}

// An axis over these values, from pixel `from` to pixel `to`.
export function scale({ log, low, high }, values, from, to) {
  const shown = values.filter((value) => Number.isFinite(value) && value !== null && (!log || value > 0));
  let [least, most] = [low ?? Math.min(...shown), high ?? Math.max(...shown)];
  if (!shown.length && (low === null || high === null)) [least, most] = log ? [1, 10] : [0, 1];
  if (least === most) [least, most] = log ? [least / 2, most * 2] : [least - 0.5, most + 0.5];
  const ticks = log ? logTicks(least, most) : evenTicks(least, most, low === null, high === null);
  if (!log) [least, most] = [Math.min(least, ticks[0]), Math.max(most, ticks.at(-1))];
  const place = log ? Math.log10 : (value) => value;
  const share = (value) => (place(value) - place(least)) / (place(most) - place(least));
  const inside = (value) => value !== null && Number.isFinite(value) && (!log || value > 0);
  return { at: (value) => from + (to - from) * Math.min(1.02, Math.max(-0.02, share(value))), ticks, inside, least, most };
}

function evenTicks(least, most, free, freeAbove) {
  const rough = (most - least) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((each) => each >= rough * 0.999);
  const first = (free ? Math.floor : Math.ceil)(least / step - (free ? -1e-9 : 1e-9));
  const last = (freeAbove ? Math.ceil : Math.floor)(most / step + (freeAbove ? -1e-9 : 1e-9));
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

function logTicks(least, most) {
  const [first, last] = [Math.ceil(Math.log10(least) - 1e-9), Math.floor(Math.log10(most) + 1e-9)];
  if (last - first < 1) {
    const all = [first - 1, first, last + 1].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
    const within = [...new Set(all)].filter((value) => value >= least * 0.999 && value <= most * 1.001);
    return within.length > 1 ? within : evenTicks(least, most, false, false);
  }
  const every = Math.ceil((last - first) / 5);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, at) => 10 ** (first + at * every));
}

// Names with the mark of each, in as many lines as they need. Returns the elements and their height.
export function legend(names, width, mark) {
  if (names.length < 2) return { drawn: [], height: 0 };
  const drawn = [];
  let [x, y] = [0, 14];
  names.forEach((name, at) => {
    const needed = 34 + name.length * LETTER;
    if (x && x + needed > width) [x, y] = [0, y + 20];
    drawn.push(mark(at, x, y - 5), text(x + 28, y, name));
    x += needed + 12;
  });
  return { drawn, height: y + 10 };
}
