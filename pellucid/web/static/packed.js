// The data in an offline page: deflated; arrays as float32; of a trace under changes only what differs.

import { place } from "./dom.js";

function bytesOf(letters) {
  const binary = atob(letters);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

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

// The arrays of a trace or a moment, each unpacked when it is first looked at.
function unpack(data) {
  const holders = [[data, "alignment"], ...Object.values(data.values ?? {}).map((entry) => [entry, "values"]), ...Object.keys(data.norms ?? {}).map((name) => [data.norms, name])];
  for (const [holder, name] of holders) {
    const packed = holder[name];
    let made = null;
    if (packed?.float32 !== undefined) Object.defineProperty(holder, name, { enumerable: true, configurable: true, get: () => made ??= arrayOf(packed) });
  }
}

export async function embedded() {
  const { deflated } = JSON.parse(place("data").textContent);
  const inflated = new Blob([bytesOf(deflated)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = JSON.parse(await new Response(inflated).text());
  for (const each of [data, data.changed, ...(data.moments ?? [])]) if (each) unpack(each);
  return data;
}

// The trace under changes as a whole one.
export function completed({ changed, ...original }) {
  if (!changed) return null;
  const byName = Object.fromEntries(["values", "norms"].map((name) => [name, { ...original[name], ...changed[name] }]));
  const formulas = Array.isArray(changed.formulas) ? changed.formulas : original.formulas.map((each) => ({ ...each, changed: changed.formulas[each.value] ?? [] }));
  return { ...original, ...changed, ...byName, formulas, changed: null };
}
