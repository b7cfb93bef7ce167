// The state of Verdicts: the filters in the URL, the loaded rows, and labels being stored. It outlives the view, so that going back shows the same list.
import {batch, computed, signal} from "../vendor.js";
import {get, post} from "../lib/api.js";
import {go, link, query} from "../lib/place.js";
import {say} from "../lib/parts.js";

const PAGE = 100;
const PAUSE = 60; // milliseconds between two requests further back
const MOST_KEPT = 40; // opened verdicts
const MOST_UNDONE = 200;

export const NAMES = ["since", "until", "model", "contract", "fingerprint", "state", "tenant", "conversation", "code", "rule", "outcome", "ok", "label", "labelled", "text"];

/** The filters in the URL. */
export const filters = computed(() => Object.fromEntries(NAMES.flatMap((name) => (query.value.get(name) ? [[name, query.value.get(name)]] : []))));
export const key = computed(() => JSON.stringify(filters.value));
export const isFiltered = computed(() => key.value !== "{}");

/** The list: `rows`; `next`, the cursor for more, "" at the beginning and null at the end; `until`, how far back the last request searched if it found too little; `isBusy`, `isPaused`, `failure`; `news`, the number of newer ones. */
const EMPTY = {key: null, rows: [], next: null, until: 0, place: null, isBusy: false, isPaused: false, isLoaded: false, failure: null, news: {count: 0}};
export const list = signal(EMPTY);
/** The scroll position of the table. */
export let memory = {};

let abort = null;
let wanted = 0;

/** Load the list for the filters in the URL, unless it is loaded already. */
export function load({again = false} = {}) {
  if (!again && list.value.key === key.value) return;
  abort?.abort();
  abort = new AbortController();
  memory = {};
  wanted = PAGE;
  list.value = {...EMPTY, next: "", key: key.value, rows: again ? list.value.rows : [], isBusy: true};
  look(abort.signal);
}

/** More rows will soon be in view. */
export function more() {
  const {rows, isBusy, isPaused, next, failure} = list.value;
  if (isBusy || isPaused || next === null || failure) return;
  wanted = rows.length + PAGE;
  look(abort.signal);
}

export const pause = () => (list.value = {...list.value, isPaused: true});
export function resume() {
  list.value = {...list.value, isPaused: false, failure: null};
  more();
}

async function look(signal) {
  list.value = {...list.value, isBusy: true};
  try {
    for (;;) {
      const {rows, next} = list.value;
      const first = next === "";
      const found = await get("/verdicts", {...filters.value, limit: PAGE, cursor: next}, signal);
      if (signal.aborted) return;
      list.value = {
        ...list.value, rows: first ? found.rows : [...rows, ...found.rows], next: found.next, until: found.searched.complete ? 0 : found.searched.until,
        place: first ? found.place : list.value.place ?? found.place, isLoaded: true, news: first ? {count: 0} : list.value.news,
      };
      if (!found.next || list.value.rows.length >= wanted || list.value.isPaused) break;
      await new Promise((done) => setTimeout(done, PAUSE));
      if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, {once: true}));
      if (signal.aborted) return;
    }
    list.value = {...list.value, isBusy: false};
  } catch (failure) {
    if (failure.name !== "AbortError") list.value = {...list.value, isBusy: false, isLoaded: true, failure};
  }
}

/** Ask how many verdicts are new; the rows do not move. */
export async function askForNews(signal) {
  const {key: about, place, next, isLoaded} = list.value;
  // While a search has found nothing yet, its results are not new.
  if (!isLoaded || (!place && next !== null) || filters.value.until || document.hidden) return;
  try {
    const news = await get("/verdicts/news", {...filters.value, after: place ?? "0.0"}, signal);
    if (list.value.key === about && list.value.place === place) list.value = {...list.value, news};
  } catch {
    // the next request may succeed
  }
}

// A few complete verdicts.
const opened = new Map();
export function fetchVerdict(id) {
  const known = opened.get(id);
  if (known) return known;
  const coming = get(`/verdicts/${encodeURIComponent(id)}`);
  opened.set(id, coming);
  coming.then((data) => (coming.data = data), () => opened.delete(id));
  if (opened.size > MOST_KEPT) opened.delete(opened.keys().next().value);
  return coming;
}
export const fetched = (id) => opened.get(id)?.data;
export const forget = (id) => opened.delete(id);

/** The labels of this visit, by verdict: `{mine, subjects: {subject: outcome}}`. */
export const said = signal(new Map());
const done = [];

const remember = (id, subject, outcome) => {
  const next = new Map(said.value);
  const before = next.get(id) ?? {};
  next.set(id, {...before, [subject]: outcome});
  said.value = next;
};

/** The user's own label of a verdict, or of one of its subjects. */
export const mineOf = (row, subject = "", known = subject ? "" : row.mine) => said.value.get(row.id)?.[subject] ?? known;

let line = Promise.resolve();
/** How many labels are being stored. When this changes, an opened verdict may have new labels. */
export const waiting = signal(0);
/** Do something after everything that is already in the queue. */
function enqueue(work) {
  waiting.value += 1;
  line = line.then(work).finally(() => (waiting.value -= 1));
}
addEventListener("beforeunload", (event) => waiting.value && event.preventDefault()); // the browser asks before labels are lost

/**
 * Label a verdict; the label is stored in the background. The page changes immediately, and back again if storing fails.
 * The next label does not wait; labels are stored in order. As in `trueup label`, skipping does not undo an answer.
 */
export function label(row, outcome, {subject = "", drawn = "", note = "", before = mineOf(row, subject), also = []} = {}) {
  if (outcome === "skipped" && ["right", "wrong"].includes(before)) return;
  const entry = {row, subject, before, outcome, items: null};
  remember(row.id, subject, outcome);
  done.push(entry);
  if (done.length > MOST_UNDONE) done.shift();
  enqueue(async () => {
    try {
      const {items} = await post("/labels", {items: [{verdict: row.id, outcome, subject, drawn, note}, ...also]});
      entry.items = items.slice(0, 1);
      forget(row.id);
    } catch (failure) {
      batch(() => {
        if (said.value.get(row.id)?.[subject] === outcome) remember(row.id, subject, before);
        const at = done.indexOf(entry);
        if (at >= 0) done.splice(at, 1);
      });
      say(`Not stored: ${failure.message}`, "bad");
    }
  });
}

/** Undo the last label, and return its row. */
export function undo() {
  const entry = done.pop();
  if (!entry) {
    say("There is nothing to undo.");
    return null;
  }
  remember(entry.row.id, entry.subject, entry.before);
  enqueue(async () => {
    if (!entry.items) return;
    try {
      const {undone} = await post("/labels/undo", {items: entry.items});
      forget(entry.row.id);
      if (!undone) say("Not undone: the label was changed elsewhere.", "bad");
    } catch (failure) {
      remember(entry.row.id, entry.subject, entry.outcome);
      say(`Not undone: ${failure.message}`, "bad");
    }
  });
  return entry;
}

export const clear = () => go(link("verdicts"));
