// The state of the page stands in its address, "#/inside?text=…&stage=…": a link opens it again, and Back goes back.

// The tab and its settings, as texts.
export function address() {
  const [tab, query] = location.hash.slice(2).split("?", 2); // with a slash before it, the browser does not scroll to an element of that name
  return { tab, settings: Object.fromEntries(new URLSearchParams(query)) };
}

// The address of a state. A setting that is empty is left out.
export function link(tab, settings) {
  const query = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return `#/${tab}${query.size ? `?${query}` : ""}`;
}

export const goTo = (tab, settings) => { location.hash = link(tab, settings); };

// The same, without a step back to what was there before: while one types, or for what nobody has chosen.
export const restate = (tab, settings) => history.replaceState(null, "", link(tab, settings));

// "encoder.output.3.17" names one cell of a trace: a value, and the place in it.
export const cellName = ({ name, index }) => [name, ...index].join(".");

export function readCell(text) {
  const [, name, places] = text.match(/^(.+?)((?:\.\d+)+)$/) ?? [null, "", ""];
  return { name, index: places.split(".").slice(1).map(Number) };
}
