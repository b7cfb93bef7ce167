// The API: one function per kind of request. A refusal becomes a Failure with a message for the page.
import {mount} from "./place.js";

export class Failure extends Error {
  constructor(status, {code = "failed", message = "The studio does not respond.", hint = "", faults = []} = {}) {
    super(message);
    Object.assign(this, {status, code, hint, faults});
  }
}

async function send(method, path, body, signal) {
  let response;
  try {
    response = await fetch(`${mount}/api${path}`, {
      method,
      signal,
      headers: body === undefined ? {"x-trueup-studio": "1"} : {"content-type": "application/json", "x-trueup-studio": "1"},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, {code: "unreachable", message: "The studio does not respond.", hint: "Is `trueup studio` still running?"});
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Failure(response.status, told.error);
}

const asked = (given = {}) => {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value != null));
  return query.size ? `?${query}` : "";
};

export const get = async (path, given, signal) => (await send("GET", path + asked(given), undefined, signal)).json();
export const post = async (path, body = {}, signal) => (await send("POST", path, body, signal)).json();
export const put = async (path, body = {}, signal) => (await send("PUT", path, body, signal)).json();

/** The answers of a streaming endpoint, one by one. Abort the signal to stop the work. */
export async function* stream(path, body = {}, signal) {
  const response = await send("POST", path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if (event?.error) throw new Failure(500, event.error);
      yield event;
    }
  }
}
