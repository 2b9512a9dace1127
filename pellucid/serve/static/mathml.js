// Formulas come as MathML. Only its own elements are taken over, and their text as text.

const SPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(["math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "mfrac", "msqrt"]);
const ATTRIBUTES = new Set(["displaystyle", "form", "stretchy", "separator", "width", "lspace", "rspace"]);

export function formulaOf(text) {
  return copy(new DOMParser().parseFromString(text, "application/xml").documentElement);
}

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (!ELEMENTS.has(node.localName)) return document.createTextNode(node.textContent);
  const made = document.createElementNS(SPACE, node.localName);
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  made.append(...[...node.childNodes].map(copy));
  return made;
}
