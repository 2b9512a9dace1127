// The offline sheet of checked worked examples. The examples stand in the same file as JSON.

import { element, place } from "./dom.js";
import { MEANINGS, drawExample, tally } from "./worked/example.js";

const examples = JSON.parse(place("data").textContent);
const articles = examples.map((example, at) => element("article", { class: "card", id: `example-${at}` }));

document.body.append(
  element("header", { class: "document" },
    element("h1", {}, "Worked examples, checked"),
    element("ul", { class: "tally" }, ...tally(examples.flatMap((example) => example.steps)).map(([verdict, text]) =>
      element("li", {}, element("span", { class: verdict }, text), ` ${MEANINGS[verdict]}`))),
    examples.length > 1 && element("nav", { "aria-label": "Examples" }, ...examples.map((example, at) =>
      element("a", { href: `#example-${at}` }, example.id)))),
  element("main", {}, ...articles),
  element("footer", { class: "quiet" }, "Every step is computed twice: from the true inputs, and from the stated numbers before it. A number " +
    "that follows from wrong stated numbers is carried: it is not a new mistake."));
examples.forEach((example, at) => drawExample(articles[at], example));
