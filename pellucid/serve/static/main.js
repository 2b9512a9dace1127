// The page: its three parts, and what they share.

import { get, useKey, usedKey } from "./api.js";
import { startInside } from "./inside.js";
import { startTranslate } from "./translate.js";
import { startWorked } from "./worked.js";

const place = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll("[role=tab]")];

// What is translated, and from which language into which; both Translate and Inside speak of it.
const session = { model: null, text: "", source: "", target: "", tell };

// An error, until something succeeds.
function tell(fault) {
  place("error").hidden = !fault;
  place("error").textContent = fault ? fault.message : "";
}

function show(name, parts) {
  for (const tab of tabs) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    place(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  tell(null);
  parts[name]();
}

function startTabs(parts) {
  // The slash keeps the browser from taking the name for that of an element, and the focus to it.
  const named = () => (location.hash.slice(2) in parts ? location.hash.slice(2) : "translate");
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => { location.hash = `/${tab.getAttribute("aria-controls")}`; });
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const next = tabs[(at + step + tabs.length) % tabs.length];
      next.focus();
      next.click();
    });
  });
  addEventListener("hashchange", () => show(named(), parts));
  show(named(), parts);
}

function startKey() {
  const input = place("key").querySelector("input");
  place("key").hidden = false;
  input.value = usedKey();
  input.addEventListener("input", () => useKey(input.value));
  place("key").addEventListener("submit", (event) => event.preventDefault());
}

async function start() {
  try {
    session.model = await get("/api/model");
  } catch (fault) {
    tell(fault);
    return;
  }
  const { config, name, key_required: keyed } = session.model;
  const called = name === "model" ? "" : `${name}: `; // a directory of that name tells nothing
  place("model").textContent = `${called}${config.encoder_layers} + ${config.decoder_layers} layers, ${config.heads} heads, d ${config.d_model}`;
  if (keyed) startKey();
  startTabs({ translate: startTranslate(session), inside: startInside(session), worked: startWorked(session) });
}

start();
