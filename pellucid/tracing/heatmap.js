// Small pieces of page, and the one picture that everything is drawn with: a matrix as a heatmap on a canvas.
// Text goes in as text only; nothing is ever parsed as HTML. The page of the service draws with this module too.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-")) made.setAttribute(key, value); // false is something to say
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// "W_Q X^T" with its signs raised and lowered; braces hold more than one sign: d_{head}.
export function formula(text) {
  const made = element("span", { class: "formula" });
  for (const piece of text.split(/([_^](?:\{[^}]*\}|.))/)) {
    if (/^[_^]/.test(piece)) made.append(element(piece[0] === "_" ? "sub" : "sup", {}, piece.slice(1).replace(/[{}]/g, "")));
    else made.append(piece);
  }
  return made;
}

export function number(value) {
  if (value === null) return "−∞";
  const short = Math.abs(value) >= 100 ? value.toFixed(1) : Math.abs(value) >= 0.001 || value === 0 ? value.toFixed(3) : value.toExponential(1);
  return short.replace("-", "−");
}

export function percent(value) {
  if (value > 0 && value < 0.001) return "< 0.1 %";
  return `${(100 * value).toFixed(1)} %`;
}

export function colour(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().slice(1);
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  return [0, 2, 4].map((place) => parseInt(full.slice(place, place + 2), 16));
}

export function mix(from, to, share) {
  return from.map((value, place) => Math.round(value + (to[place] - value) * share));
}

// From a value to a colour. Weights: 0 to 1, small ones lifted so that they can be seen. Others: both signs.
function palette(kind, largest) {
  const [low, middle, high, negative, masked] = ["low", "middle", "high", "negative", "masked"].map(colour);
  const rise = (share) => (share < 0.5 ? mix(low, middle, 2 * share) : mix(middle, high, 2 * share - 1));
  return (value) => {
    if (value === null) return masked;
    if (kind === "weights") return rise(Math.min(1, Math.max(0, value)) ** 0.6);
    const share = largest ? Math.min(1, Math.abs(value) / largest) ** 0.75 : 0;
    return value < 0 ? mix(low, negative, share) : rise(share);
  };
}

function largestOf(values) {
  let largest = 0;
  for (const row of values) for (const value of row) if (value !== null) largest = Math.max(largest, Math.abs(value));
  return largest;
}

// The matrix at one pixel a cell; scaled up without smoothing it is as sharp as it is quick.
function bitmap(values, kind, largest) {
  const small = element("canvas", { width: Math.max(1, values[0].length), height: values.length });
  const context = small.getContext("2d");
  const image = context.createImageData(small.width, small.height);
  const paint = palette(kind, largest);
  values.forEach((row, y) => row.forEach((value, x) => image.data.set([...paint(value), 255], 4 * (y * small.width + x))));
  context.putImageData(image, 0, 0);
  return small;
}

function sharpCanvas(width, height, attributes = {}) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const canvas = element("canvas", { ...attributes, width: Math.round(width * ratio), height: Math.round(height * ratio) });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [canvas, context];
}

function thumbnail(values, size, kind = "weights") {
  const cell = size / Math.max(values.length, values[0].length);
  const [canvas, context] = sharpCanvas(Math.ceil(values[0].length * cell), Math.ceil(values.length * cell));
  const draw = () => {
    context.imageSmoothingEnabled = false;
    context.drawImage(bitmap(values, kind, largestOf(values)), 0, 0, values[0].length * cell, values.length * cell);
  };
  draw();
  canvas.redraw = draw;
  return canvas;
}

function legend(kind, largest) {
  const ends = kind === "weights" ? [0, 1] : [-largest, largest];
  const words = kind === "weights" ? ["0", "1"] : ends.map(number);
  const ramp = [Array.from({ length: 64 }, (_, place) => ends[0] + ((ends[1] - ends[0]) * place) / 63)];
  const [canvas, context] = sharpCanvas(96, 8);
  const draw = () => {
    context.imageSmoothingEnabled = false;
    context.drawImage(bitmap(ramp, kind, largest), 0, 0, 96, 8);
  };
  draw();
  canvas.redraw = draw;
  return element("span", { class: "legend" }, words[0], canvas, words[1]);
}

// A figure: caption, the matrix with its row and column words, a line that reads the cell pointed at.
// The arrow keys move from cell to cell.
export function heatmap({ values, rows, columns = null, kind = "signed", title, note = "", cell = [12, 12], describe }) {
  const font = (pixels) => `${Math.min(12, pixels)}px ui-sans-serif, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif`; // as high as a cell at most
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = font(12);
  const fit = (word) => (word.length > 14 ? `${word.slice(0, 13)}…` : word);
  const width = (words) => Math.ceil(Math.max(0, ...words.map((word) => measure.measureText(fit(word)).width)));
  const [high, wide] = [values.length, values[0].length];
  const labelled = columns && cell[0] >= 9;
  const left = width(rows) + 8;
  const top = labelled ? width(columns) + 8 : 0;
  const [canvas, context] = sharpCanvas(left + wide * cell[0] + 1, top + high * cell[1] + 1, {
    tabindex: 0, role: "img", "aria-label": `${title.replace(/[_{}]/g, "")}: ${high} by ${wide}. The arrow keys read cell by cell.`,
  });
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const largest = largestOf(values);
  const written = cell[0] >= 26 && cell[1] >= 20; // there is room for the number itself
  let base = null;
  let at = null;

  function draw() {
    const [ink, accent, line] = ["ink", "accent", "line"].map((name) => `rgb(${colour(name)})`);
    base = base || bitmap(values, kind, largest);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(base, left, top, wide * cell[0], high * cell[1]);
    context.strokeStyle = line;
    context.strokeRect(left + 0.5, top + 0.5, wide * cell[0], high * cell[1]);
    context.textBaseline = "middle";
    context.font = font(cell[1]);
    rows.forEach((word, row) => {
      context.fillStyle = at && at[0] === row ? accent : ink;
      context.textAlign = "right";
      if (cell[1] >= 9) context.fillText(fit(word), left - 6, top + (row + 0.5) * cell[1]);
    });
    context.font = font(cell[0]);
    if (labelled) columns.forEach((word, column) => {
      context.save();
      context.translate(left + (column + 0.5) * cell[0], top - 5);
      context.rotate(-Math.PI / 2);
      context.fillStyle = at && at[1] === column ? accent : ink;
      context.textAlign = "left";
      context.fillText(fit(word), 0, 0);
      context.restore();
    });
    if (written) write(ink);
    if (at) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(left + at[1] * cell[0], top + at[0] * cell[1], cell[0], cell[1]);
      context.lineWidth = 1;
    }
  }

  // Percents of weights, one decimal of everything else, in the ink that can be read on the cell.
  function write(ink) {
    const dark = (rgb) => rgb[0] * 0.3 + rgb[1] * 0.59 + rgb[2] * 0.11 < 140;
    const paint = palette(kind, largest);
    const [onLight, onDark] = dark(colour("ink")) ? [ink, `rgb(${colour("low")})`] : [`rgb(${colour("low")})`, ink];
    context.textAlign = "center";
    context.font = font(10.5);
    values.forEach((row, y) => row.forEach((value, x) => {
      if (value === null || (kind === "weights" && value < 0.01)) return;
      context.fillStyle = dark(paint(value)) ? onDark : onLight;
      const text = kind === "weights" ? `${Math.round(100 * value)}` : value.toFixed(1).replace("-", "−");
      context.fillText(text, left + (x + 0.5) * cell[0], top + (y + 0.5) * cell[1]);
    }));
  }

  function read(row, column) {
    at = row >= 0 && column >= 0 && row < high && column < wide ? [row, column] : null;
    const what = at && (describe ? describe(row, column) : columns ? `${rows[row]} → ${columns[column]}` : `${rows[row]}, feature ${column}`);
    readout.textContent = at ? `${what}:  ${number(values[row][column])}` : "";
    draw();
  }

  canvas.addEventListener("pointermove", (event) => {
    read(Math.floor((event.offsetY - top) / cell[1]), Math.floor((event.offsetX - left) / cell[0]));
  });
  canvas.addEventListener("pointerleave", () => read(-1, -1));
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!moves[event.key]) return;
    event.preventDefault();
    const [down, right] = at ? moves[event.key] : [0, 0];
    const [row, column] = at || [0, 0];
    read(Math.min(high - 1, Math.max(0, row + down)), Math.min(wide - 1, Math.max(0, column + right)));
  });
  canvas.redraw = () => { base = null; draw(); };
  draw();
  return element("figure", {}, element("figcaption", {}, formula(title), element("small", {}, note)),
    element("div", { class: "scroll" }, canvas), element("div", { class: "reading" }, legend(kind, largest), readout));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const canvas of document.querySelectorAll("canvas")) if (canvas.redraw) canvas.redraw();
});
