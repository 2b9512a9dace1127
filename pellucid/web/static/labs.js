// The offline page of labs. They stand in the same file as JSON, each with a result.

import { element, place } from "./dom.js";
import { drawLab } from "./labs/lab.js";

const labs = JSON.parse(place("data").textContent);
const sheets = labs.map(({ name }) => element("article", { class: "card", id: name }));

document.body.append(
  element("header", { class: "document" },
    element("h1", {}, labs.length > 1 ? "Labs" : labs[0].title),
    labs.length > 1 && element("nav", { "aria-label": "Labs" }, ...labs.map(({ name, claims }) => element("a", { href: `#${name}` }, `${claims} ${name}`)))),
  element("main", {}, ...sheets),
  element("footer", { class: "quiet" }, "A claim is measured, and the verdict follows a criterion that was fixed before. Made by Pellucid."));
labs.forEach((lab, at) => drawLab(sheets[at], lab));
