// The replay: a slider over the characters of the reply. For each position the page asks what was known at that point: one request at a time, and the newest wins.
import {computed, effect, signal, useMemo} from "../vendor.js";
import {html} from "../lib/html.js";
import {post} from "../lib/api.js";
import {number} from "../lib/words.js";
import {isFresh, judged, reply, until} from "./try-state.js";

const EMPTY = {data: null, failure: null, upto: 0, total: 0};
/** The partial result at the position of the slider. */
export const replayed = signal(EMPTY);
const steps = signal(null); // where the value changes; null: not requested yet
const total = computed(() => judged.value.verdict?.text.length ?? reply.value.length);
export const isReplaying = computed(() => until.value !== null && judged.value.verdict !== null && until.value < total.value);

let abort = null;
let running = null; // a promise while a request is pending
let wanted = null;

/** Ask what is known after some characters; resolves when the newest request is answered. */
function ask(upto) {
  wanted = upto;
  running ??= answer().finally(() => (running = null));
  return running;
}

async function answer() {
  while (wanted !== null) {
    const upto = wanted;
    const {about} = judged.peek();
    wanted = null;
    if (!about) return;
    abort = new AbortController();
    try {
      const data = await post("/replay", {...about, upto, steps: steps.peek() === null}, abort.signal);
      if (judged.peek().about !== about) continue;
      replayed.value = {data, failure: null, upto, total: total.peek()};
      if (data.steps) steps.value = data.steps;
    } catch (failure) {
      if (failure.name !== "AbortError") replayed.value = {...EMPTY, failure};
    }
  }
}

let known = null;
effect(() => {
  const {about} = judged.value;
  if (about === known) return;
  known = about;
  wanted = null;
  abort?.abort();
  steps.value = null;
  replayed.value = EMPTY;
  if (until.peek() !== null) ask(until.peek());
});

const PAIR = /^[\ud800-\udbff][\udc00-\udfff]/;

/** Go to a place. If it is inside a character, move past that in the same direction. */
export function moveTo(at) {
  let place = Math.max(0, Math.min(at, total.value));
  if (place && PAIR.test(judged.value.verdict?.text.slice(place - 1, place + 1))) place += place > (until.value ?? total.value) ? 1 : -1;
  until.value = place >= total.value ? null : place;
  ask(place);
}

/** Go to the next change of the partial value, or with -1 to the previous one. */
export async function jump(by) {
  if (!judged.value.verdict) return;
  const here = until.value ?? total.value;
  if (steps.value === null) await ask(here);
  const all = [...(steps.value ?? []), total.value];
  const next = by > 0 ? all.find((step) => step > here) : all.findLast((step) => step < here);
  moveTo(next ?? (by > 0 ? total.value : 0));
}

export function Stream() {
  const size = total.value;
  const here = Math.min(until.value ?? size, size);
  const path = useMemo(() => (steps.value ?? []).map((step) => `M${((step / Math.max(size, 1)) * 1000).toFixed(1)} 0V6`).join(""), [steps.value, size]);
  const off = !judged.value.verdict || !size || !isFresh.value && until.value === null;
  return html`<footer class="stream" aria-label="Replay as a stream">
    <span class="title" aria-hidden="true">Replay as a stream</span>
    <div class="slide">
      <input id="stream" type="range" aria-label="Replay as a stream" min="0" max=${size} step="1" value=${here} style=${{"--at": `${(here / Math.max(size, 1)) * 100}%`}} disabled=${!judged.value.verdict || !size} aria-valuetext=${`${here} of ${size} characters`}
        onInput=${(event) => moveTo(Number(event.target.value))} onFocus=${() => steps.value || off || ask(here)} />
      <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true"><path d=${path} /></svg>
    </div>
    <span class="jumps"><button type="button" class="plain" title="Previous change of the value" aria-label="Previous change" disabled=${!size || here === 0} onClick=${() => jump(-1)}><kbd>[</kbd></button><button type="button" class="plain" title="Next change of the value" aria-label="Next change" disabled=${!size || here === size} onClick=${() => jump(1)}><kbd>]</kbd></button></span>
    <span class="num">${number(here)} / ${number(size)} <span class="wide">characters</span></span>
  </footer>`;
}
