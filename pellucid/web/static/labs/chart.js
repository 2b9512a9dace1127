// Curves, points and bars. A series has a colour, a dash and a mark of its own, so that none is told by its colour alone.

import { svg } from "../dom.js";
import { LETTER, legend, round, scale, short, text } from "./axes.js";

const MARKED = 30; // points of a series, above which it has no marks

// The mark of a series, by its number, around (x, y).
const MARKS = [
  (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z`,
  (x, y) => `M${x - 3.2} ${y - 3.2}h6.4v6.4h-6.4Z`,
  (x, y) => `M${x} ${y - 4.3}l4.2 7.4h-8.4Z`,
  (x, y) => `M${x} ${y - 4.6}l4.6 4.6l-4.6 4.6l-4.6 -4.6Z`,
  (x, y) => `M${x} ${y + 4.3}l4.2 -7.4h-8.4Z`,
  (x, y) => `M${x - 4} ${y - 1.3}h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7Z`,
];
const mark = (at, x, y) => svg("path", { class: `mark s${at + 1}`, d: MARKS[at](round(x), round(y)) });

// Both axes with their labels and grid, and a drawing inside them.
function framed({ x, y }, [xs, ys], width, names, markOf, draw) {
  const top = legend(names, width, markOf);
  const plotHeight = Math.round(Math.min(300, Math.max(200, width * 0.5)));
  const up = scale(y, ys, top.height + 26 + plotHeight, top.height + 26);
  const left = Math.max(...up.ticks.map((tick) => short(tick).length)) * LETTER + 10;
  const along = scale(x, xs, left + 6, width - 24);
  const bottom = top.height + 26 + plotHeight;
  const grid = [
    ...up.ticks.flatMap((tick) => [
      svg("path", { class: "grid", d: `M${round(left)} ${round(up.at(tick))}H${width}` }),
      text(left - 6, up.at(tick) + 4, short(tick), { class: "tick", "text-anchor": "end" }),
    ]),
    ...fitting(along.ticks, along.at).map((tick) => text(along.at(tick), bottom + 20, short(tick), { class: "tick", "text-anchor": "middle" })),
    svg("path", { class: "axis", d: `M${round(left)} ${bottom}H${width}` }),
    text(0, top.height + 14, y.label, { class: "label" }),
    text(width - 2, bottom + 40, x.label, { class: "label", "text-anchor": "end" }),
  ];
  return { height: bottom + 48, drawn: [...top.drawn, ...grid, ...draw(along, up, left)] };
}

// The ticks whose numbers do not run into one another.
function fitting(ticks, at) {
  let end = -Infinity;
  return ticks.filter((tick) => {
    const half = (short(tick).length * LETTER) / 2 + 4;
    if (at(tick) - half < end) return false;
    end = at(tick) + half;
    return true;
  });
}

export function lines(figure, width) {
  const { series } = figure;
  const values = [series.flatMap(({ x }) => x), series.flatMap(({ y, low = [], high = [] }) => [...y, ...low, ...high])];
  const key = (at, x, y) => svg("g", {}, svg("path", { class: `curve s${at + 1}`, d: `M${round(x)} ${y}h22` }), mark(at, x + 11, y));
  return framed(figure, values, width, series.map(({ name }) => name), key, (along, up) => series.flatMap((curve, at) => [
    curve.low && svg("path", { class: `band s${at + 1}`, d: band(curve, along, up) }),
    svg("path", { class: `curve s${at + 1}`, d: path(curve, along, up) }),
    ...(curve.x.length <= MARKED ? marked(curve, at, along, up) : []),
  ]));
}

const marked = ({ x, y }, at, along, up) => y.flatMap((value, place) => (up.inside(value) && along.inside(x[place]) ? [mark(at, along.at(x[place]), up.at(value))] : []));

function path({ x, y }, along, up) {
  let gap = true;
  return y.map((value, place) => {
    if (!up.inside(value) || !along.inside(x[place])) return (gap = true) && "";
    const step = `${gap ? "M" : "L"}${round(along.at(x[place]))} ${round(up.at(value))}`;
    gap = false;
    return step;
  }).join("");
}

// Of a band that reaches below zero on a logarithmic axis, the part above the lowest tick.
function band({ x, low, high }, along, up) {
  const place = (value) => round(up.at(up.inside(value) ? value : up.least));
  const there = x.map((value, at) => `${round(along.at(value))} ${place(high[at])}`);
  const back = x.map((value, at) => `${round(along.at(value))} ${place(low[at])}`).reverse();
  return `M${[...there, ...back].join("L")}Z`;
}

export function points(figure, width) {
  const { groups } = figure;
  const values = [groups.flatMap(({ x }) => x), groups.flatMap(({ y }) => y)];
  const key = (at, x, y) => mark(at, x + 14, y);
  return framed(figure, values, width, groups.map(({ name }) => name), key, (along, up) => groups.flatMap((group, at) =>
    group.x.flatMap((value, place) => {
      const [px, py] = [along.at(value), up.at(group.y[place])];
      const word = group.labels?.[place];
      const left = word && px + 8 + word.length * LETTER > width; // the word would leave the chart
      return [mark(at, px, py), word && text(px + (left ? -7 : 7), py + 4, word, { class: "word", "text-anchor": left ? "end" : "start" })];
    })));
}

const [BAR, GAP] = [15, 12];

export function bars({ categories, groups, y }, width) {
  const key = (at, x, top) => svg("path", { class: `bar s${at + 1}`, d: `M${round(x)} ${top - 6}h22v12h-22Z` });
  const top = legend(groups.map(({ name }) => name), width, key);
  const values = groups.flatMap((group) => [...group.values, ...group.low, ...group.high]);
  const along = scale({ ...y, low: y.low ?? (y.log ? null : Math.min(0, ...values)), high: y.high ?? (y.log ? null : Math.max(0, ...values)) }, values, 2, width - 62);
  const zero = along.at(y.log ? along.least : 0);
  const drawn = [...top.drawn, text(0, top.height + 14, y.label, { class: "label" })];
  let at = top.height + 30;
  categories.forEach((category, row) => {
    drawn.push(text(7, at + 10, category));
    at += 16;
    groups.forEach(({ values: own, low, high }, number) => {
      const [end, from, to] = [own[row], low[row], high[row]].map((value) => along.at(along.inside(value) ? value : along.least));
      drawn.push(svg("path", { class: `bar s${number + 1}`, d: `M${round(zero)} ${at + 1}H${round(end)}v${BAR - 2}H${round(zero)}Z` }));
      if (low[row] !== high[row]) drawn.push(svg("path", { class: "whisker", d: `M${round(from)} ${at + BAR / 2}H${round(to)}M${round(from)} ${at + 4}v7M${round(to)} ${at + 4}v7` }));
      drawn.push(text(Math.max(zero, end, to) + 5, at + 12, short(own[row]), { class: "tick" }));
      at += BAR;
    });
    at += GAP;
  });
  drawn.push(svg("path", { class: "axis", d: `M${round(zero)} ${top.height + 22}V${at - GAP + 4}` }));
  return { height: at, drawn };
}
