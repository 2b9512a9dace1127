// Requests to the server this page came from.

import { aborted } from "./session.js";

const STORED = "pellucid.api_key";

export const storedKey = () => sessionStorage.getItem(STORED) || "";
export const storeKey = (key) => sessionStorage.setItem(STORED, key);

export const get = (path) => answer(path, {}).then((response) => response.json());

export const post = (path, body, signal) => send(path, body, signal).then((response) => response.json());

// A translation, piece by piece as it is generated.
export async function* streamTranslation(body, signal) {
  const response = await send("/api/stream", body, signal);
  for await (const [name, content] of serverEvents(response.body)) {
    if (name === "error") throw new Error(sentence(content.error));
    if (name === "piece") yield content.text;
    if (name === "end") return;
  }
  throw new Error("The server ended the connection before the translation was complete.");
}

// The events of a lab that runs: its progress, then its result.
export const runLab = (body, signal) => eventsUntil("result", "/api/labs/run", body, signal);

// How a run learned a sentence: what all moments have in common, then each of them.
export const streamLearning = (body, signal) => eventsUntil("end", "/api/learning", body, signal);

async function* eventsUntil(last, path, body, signal) {
  const response = await send(path, body, signal);
  for await (const [name, content] of serverEvents(response.body)) {
    if (name === "error") throw new Error(sentence(content.error));
    yield [name, content];
    if (name === last) return;
  }
  throw new Error("The server ended the connection before the end.");
}

// Server-sent events: the name and the data of each.
async function* serverEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(unreachable);
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      yield [name, JSON.parse(data)];
    }
  }
}

function send(path, body, signal) {
  const content = JSON.stringify(storedKey() ? { ...body, api_key: storedKey() } : body);
  return answer(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: content, signal });
}

async function answer(path, options) {
  const response = await fetch(path, options).catch(unreachable);
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new Error(sentence(error || `The server answered with ${response.status}.`));
}

function unreachable(error) {
  throw aborted(error) ? error : new Error("The server does not answer. Is it still running?");
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!)]$/.test(text) ? "" : "."}`;
