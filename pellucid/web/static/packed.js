// The data in an offline page: deflated; arrays as float32; of a trace under changes only what differs.

import { place } from "./dom.js";

const bytesOf = (letters) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));

// The bytes of all numbers stand in four planes: all first ones, all second ones, … −∞, the score of what is masked, is null as in JSON.
function arrayOf({ shape, float32 }) {
  const planes = bytesOf(float32);
  const count = planes.length / 4;
  const number = new DataView(new ArrayBuffer(4));
  let at = 0;
  const next = (axis) => {
    if (axis < shape.length) return Array.from({ length: shape[axis] }, () => next(axis + 1));
    for (let byte = 0; byte < 4; byte += 1) number.setUint8(byte, planes[byte * count + at]);
    at += 1;
    const value = number.getFloat32(0);
    return Number.isFinite(value) ? value : null;
  };
  return next(0);
}

export async function embedded() {
  const { deflated } = JSON.parse(place("data").textContent);
  const inflated = new Blob([bytesOf(deflated)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(inflated).text(), (_, value) => (value?.float32 === undefined ? value : arrayOf(value)));
}

// The trace under changes as a whole one.
export function completed({ changed, ...original }) {
  if (!changed) return null;
  const byName = Object.fromEntries(["values", "norms"].map((name) => [name, { ...original[name], ...changed[name] }]));
  const formulas = Array.isArray(changed.formulas) ? changed.formulas : original.formulas.map((each) => ({ ...each, changed: changed.formulas[each.value] ?? [] }));
  return { ...original, ...changed, ...byName, formulas, changed: null };
}
