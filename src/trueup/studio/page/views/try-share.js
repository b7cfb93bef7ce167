// Sharing: packs a reply and a contract into a compressed URL fragment, and unpacks it. Nothing is sent: browsers do not send fragments to servers.
import {Failure} from "../lib/api.js";
import {bytes} from "../lib/words.js";

const MARK = "1."; // the version of the format
const MOST = 60_000; // characters: longer links do not survive chats and mails
const MOST_INFLATED = 24_000_000; // bytes
const NAMES = {reply: "r", contract: "c", kind: "k", file: "f", state: "s", context: "x", source: "o", plain: "t"};

async function through(stream, data, most) {
  const reader = new Blob([data]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Failure(0, {code: "too_large", message: "This link contains more text than the page accepts."});
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function spelled(data) {
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Packs the state of Try into a URL fragment; refuses one that is too long for a link. */
export async function packed(given) {
  const short = Object.fromEntries(Object.entries(NAMES).flatMap(([name, letter]) => (given[name] ? [[letter, given[name]]] : [])));
  const data = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(short)), Infinity);
  const text = MARK + spelled(data);
  if (text.length > MOST) {
    throw new Failure(0, {code: "too_large", message: `This is too much text for a link: ${bytes(text.length)} compressed; the limit is ${bytes(MOST)}.`, hint: "Save the reply to a file and send that."});
  }
  return text;
}

/** Unpacks a fragment; refuses one that is damaged or not from this page. */
export async function unpacked(fragment) {
  const broken = new Failure(0, {code: "broken_link", message: "This link is damaged: its reply cannot be read.", hint: "Copy the whole link again. An example is shown instead."});
  if (!fragment.startsWith(MARK) || !/^[\w-]*$/.test(fragment.slice(MARK.length))) throw broken;
  let found;
  try {
    const raw = atob(fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const data = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(raw, (letter) => letter.charCodeAt(0)), MOST_INFLATED);
    found = JSON.parse(new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(data));
  } catch (failure) {
    throw failure instanceof Failure ? failure : broken;
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw broken;
  const given = Object.fromEntries(Object.entries(NAMES).map(([name, letter]) => [name, found[letter] ?? ""]));
  if (Object.values(given).some((value) => typeof value !== "string")) throw broken;
  return given;
}
