// The state of Try: the inputs, the verdict, and the loop that judges after each change. It outlives the view, so that nothing is lost by leaving it.
import {batch, computed, signal} from "../vendor.js";
import {get, post} from "../lib/api.js";
import {say} from "../lib/parts.js";
import {query} from "../lib/place.js";
import {draft, keep as keepChange} from "./contract-drafts.js";

const WAIT = 20; // milliseconds between the last key and the request
const SLOW = 200; // milliseconds until the page shows that it is judging
const COLD = 0.02; // seconds
const MOST_WARMED = 50_000;
const DRAFT = "trueup-try";
const MOST_DRAFT = 1_000_000;

export const reply = signal("");
export const contract = signal("");
/** Where the contract came from: `{file, kind, hash, text}`; `text` is the content of the file. */
export const source = signal({file: "", kind: ".yaml", hash: "", text: null});
export const state = signal("");
export const context = signal("");
/** The text that a grounded contract looks values up in. */
export const material = signal("");
/** "yes": the reply is text, even if it looks like a provider's response. */
export const plain = signal("");
/** The example that reply and contract came from, and whether they were edited. */
export const example = signal("");
export const isEdited = signal(false);
export const samples = signal([]);
/** The answer to the last request: `{verdict, faults, took, contract, failure}`, and the inputs that it is about. */
export const judged = signal({verdict: null, faults: [], took: null, contract: null, failure: null, about: null});
/** The problems of the contract, and of the context. */
export const faults = computed(() => ({contract: judged.value.faults.filter(({of}) => of !== "context"), context: judged.value.faults.filter(({of}) => of === "context")}));
export const isSlow = signal(false);
export const chosen = signal(null);
/** The index of the value whose evidence is shown. */
export const picked = signal(null);
/** Characters of the reply that have arrived in the replay; null: all. */
export const until = signal(null);

export const kind = computed(() => source.value.kind);
export const isSaved = computed(() => source.value.text !== null && source.value.text === contract.value);
export const asked = () => ({reply: reply.value, contract: contract.value, kind: kind.value, file: source.value.file, state: state.value, context: context.value, source: material.value, response: plain.value ? false : "auto"});
const isAbout = (about) => about !== null && Object.entries(asked()).every(([name, value]) => about[name] === value);
/** Whether the verdict is about the current text of the editors. */
export const isFresh = computed(() => isAbout(judged.value.about));

let timer = 0;
let slow = 0;
let abort = null;
let cost = 0;
let warm = null; // the fingerprint of the contract of the previous verdict

/** Judge soon: after a pause that grows only when judging is slow. An older request is cancelled. */
export function judgeSoon(wait = Math.min(cost > 120 ? cost : WAIT, 1500)) {
  clearTimeout(timer);
  abort?.abort();
  if (!slow) slow = setTimeout(() => (isSlow.value = true), SLOW);
  timer = setTimeout(judge, wait);
}

async function judge() {
  const about = asked();
  const mine = new AbortController();
  abort = mine;
  const started = performance.now();
  let answer;
  try {
    answer = {failure: null, ...await post("/judge", about, mine.signal)};
  } catch (failure) {
    if (failure.name === "AbortError") return;
    if (about.file && failure.status === 404) { // a link from another studio
      say(`${about.file} is not a file of this studio. The contract is used without a file.`);
      source.value = {...source.value, file: "", hash: "", text: null};
      judgeSoon(0);
      return;
    }
    answer = {verdict: null, faults: judged.value.faults, took: null, contract: null, failure};
  }
  if (mine.signal.aborted) return;
  cost = performance.now() - started;
  const {path} = rowsIn(judged.value)[picked.value] ?? {};
  const same = rowsIn(answer).findIndex((row) => row.path === path);
  clearTimeout(slow);
  slow = 0;
  batch(() => {
    isSlow.value = false;
    judged.value = {...answer, contract: answer.contract ?? judged.value.contract, about}; // while a contract is broken, its states stay
    chosen.value = kept(answer.verdict, chosen.value);
    picked.value = same < 0 ? null : same;
    if (answer.verdict && until.value !== null && until.value >= answer.verdict.text.length) until.value = null;
  });
  clearTimeout(keeping);
  keeping = setTimeout(keep, 400);
  const mark = `${answer.contract?.fingerprint} ${Boolean(answer.verdict?.evidence)}`;
  if (answer.took > COLD && mark !== warm && about.reply.length < MOST_WARMED) judgeSoon(0); // the first request, and the first with a source, also load parts of the engine: measure again without that
  warm = mark;
}

/** The choice stays as long as the chosen fact is in the new verdict. */
let choice = null;
function kept(verdict, index) {
  if (index === null || !choice || !verdict) return null;
  const same = verdict.facts.findIndex((fact) => fact.code === choice.code && fact.path === choice.path && fact.kind === choice.kind);
  return same < 0 ? null : same;
}
export function choose(index) {
  choice = judged.value.verdict?.facts[index] ?? null;
  chosen.value = choice ? index : null;
  const found = choice ? rowsIn(judged.value).findIndex(({fact}) => fact === index) : -1;
  picked.value = found < 0 ? null : found;
}
const rowsIn = ({verdict}) => verdict?.evidence?.rows ?? [];
/** Choose a value, and the finding about it. */
export function pick(index) {
  choose(rowsIn(judged.value)[index].fact);
  picked.value = index;
}

export function editReply(text) {
  batch(() => {
    reply.value = text;
    isEdited.value = true;
    until.value = null;
  });
  judgeSoon();
}

export function editMaterial(text) {
  material.value = text;
  isEdited.value = true;
  judgeSoon();
}

export function editContract(text) {
  batch(() => {
    contract.value = text;
    isEdited.value = true;
  });
  const {file, text: saved, hash} = source.value;
  if (file && saved !== null) keepChange(file, text, {text: saved, hash});
  judgeSoon();
}

export function setSituation(changes) {
  batch(() => {
    if ("state" in changes) state.value = changes.state;
    if ("context" in changes) context.value = changes.context;
    if (changes.source) material.value = changes.source;
    if ("plain" in changes) plain.value = changes.plain;
  });
  judgeSoon();
}

/** Replace everything; `edited`: there is no address for this content. */
export function show(given, from) {
  turn += 1;
  isOpening.value = false;
  put(given, from);
}
function put(given, from = {}) {
  batch(() => {
    reply.value = given.reply ?? reply.value;
    contract.value = given.contract ?? contract.value;
    state.value = given.state ?? "";
    context.value = given.context ?? "";
    material.value = given.source ?? material.value;
    plain.value = given.plain ?? "";
    source.value = {file: given.file ?? "", kind: given.kind || ".yaml", hash: given.hash ?? "", text: given.saved ?? null};
    example.value = from.example ?? "";
    isEdited.value = from.edited ?? false;
    until.value = null;
    chosen.value = picked.value = null;
  });
  judgeSoon(0);
}

// What an address names takes a while to load. Only the last request counts, so a slow answer never replaces newer content.
let turn = 0; // counts what was shown or requested
let arriving = Promise.resolve();
/** Whether content is being loaded. Until it is shown, nothing can be typed: it would be replaced. */
export const isOpening = signal(true);
/** Whether nothing was shown or requested yet. */
export const isNew = () => turn === 0;
/** Wait until the content that was requested is shown. */
export const settled = () => arriving;

/** Load content: `load(showIt)` calls `showIt` as `show`; it does nothing if something else was shown or requested since. `failed(failure, showIt)` handles an error. */
export function opening(load, failed) {
  const mine = (turn += 1);
  const isCurrent = () => mine === turn;
  const showIt = (given, from) => isCurrent() && put(given, from);
  isOpening.value = true;
  arriving = load(showIt)
    .catch((failure) => isCurrent() && failed(failure, showIt))
    .finally(() => isCurrent() && (isOpening.value = false));
}

let loadedSamples = null;
export function loadSamples() {
  loadedSamples ??= get("/samples").then((found) => {
    samples.value = found;
  }).catch(() => (loadedSamples = null));
  return loadedSamples;
}

/** Show a named example, or the first one. Returns false if there is none or the studio does not respond. */
export async function showSample(showIt, name) {
  await loadSamples();
  const found = name ? samples.value.find((each) => each.name === name) : samples.value[0];
  if (found) showIt(found, {example: found.name});
  else judgeSoon(0);
  return Boolean(found);
}

/** Show a contract file with `showIt`, and keep the reply. An unsaved change of the file is kept, and so are the state and context if the file is the same. */
function showContract(found, showIt) {
  const kept = draft(found.file);
  const situation = source.value.file === found.file ? {state: state.value, context: context.value} : {};
  showIt({...situation, contract: kept?.text ?? found.text, file: found.file, kind: found.kind || kindOf(found.file), hash: kept?.base.hash ?? found.hash, saved: kept?.base.text ?? found.text}, {edited: true});
}
export const openContract = async (showIt, file) => showContract(await get("/contracts/file", {file}), showIt);
/** Show a file as it is on disk now, unless another one was opened in the meantime. */
export const showSaved = (found) => source.value.file === found.file && showContract(found, put);
export const kindOf = (file) => /\.(json|toml)$/i.exec(file)?.[0].toLowerCase() ?? ".yaml";

// A draft survives reloading the page and signing in again, in this tab only.
let keeping = 0;
const named = () => ["example", "file"].map((name) => query.value.get(name) ?? "").join(" ");
function keep() {
  if (isOpening.value) return; // there is nothing new to keep
  try {
    if (!isEdited.value || reply.value.length + contract.value.length + material.value.length > MOST_DRAFT) sessionStorage.removeItem(DRAFT);
    else sessionStorage.setItem(DRAFT, JSON.stringify({...asked(), plain: plain.value, hash: source.value.hash, saved: source.value.text, example: example.value, at: named()}));
  } catch {
    // no room: the draft is not kept
  }
}
addEventListener("pagehide", keep);
export async function restoreDraft(showIt) {
  let found;
  try {
    found = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
  } catch {
    return false;
  }
  if (!found || found.at !== named() || typeof found.reply !== "string" || typeof found.contract !== "string") return false;
  showIt(found, {example: found.example, edited: true});
  if (found.file && found.contract === found.saved) await openContract(showIt, found.file); // it may have changed in the meantime
  return true;
}
