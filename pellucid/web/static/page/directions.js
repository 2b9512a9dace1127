// The choice of source and target language. A model without language codes, or with one direction, offers no choice.

import { element } from "../dom.js";
import { session } from "./session.js";

// Fills `where` with the choice; `changed` is called after the session was. Returns what brings the choice up to date, and
// says which language was detected, if one was.
export function directions(where, changed) {
  const { languages } = session.model;
  const sources = languages.filter((language) => language.targets.length);
  const name = (code) => languages.find((language) => language.code === code).name;
  if (sources.length < 2 && (sources[0]?.targets.length ?? 0) < 2) {
    if (sources[0] && sources[0].code !== "source") where.append(`${sources[0].name} → ${name(sources[0].targets[0])}`);
    return () => {};
  }
  const option = (code, text) => element("option", { value: code }, text);
  const update = (settings, swapped) => {
    Object.assign(session, settings);
    refresh();
    changed(swapped);
  };
  const source = element("select", { "aria-label": "From", onchange: () => update({ source: source.value }) },
    option("", "Detect language"), ...sources.map((language) => option(language.code, language.name)));
  const target = element("select", { "aria-label": "Into", onchange: () => update({ target: target.value }) });
  const swap = element("button", { type: "button", class: "plain", "aria-label": "Swap languages", title: "Swap languages",
    onclick: () => update({ source: session.target, target: session.source }, true) }, "⇄");

  function refresh(found = null) {
    const from = sources.filter((language) => !session.source || language.code === session.source);
    const codes = [...new Set(from.flatMap((language) => language.targets))];
    if (!codes.includes(session.target)) session.target = session.source ? codes[0] : "";
    const detected = session.source ? [] : [option("", "the other language")];
    target.replaceChildren(...detected, ...codes.map((code) => option(code, name(code))));
    source.options[0].textContent = found && !session.source ? `${name(found)} (detected)` : "Detect language";
    [source.value, target.value] = [session.source, session.target];
    swap.disabled = !session.source || !languages.find((each) => each.code === session.target)?.targets.includes(session.source);
  }

  where.append(source, swap, target);
  refresh();
  return refresh;
}
