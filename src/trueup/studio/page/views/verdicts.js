// Verdicts: the store as a table of any length, one verdict beside it, labels with one key, and a queue of uncertain ones.
import {computed, signal, useEffect, useRef} from "../vendor.js";
import {html} from "../lib/html.js";
import {about, may} from "../lib/about.js";
import {useKeys} from "../lib/keys.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Filling, Key, NoStore, Panel} from "../lib/parts.js";
import {go, link, query, refine, steps} from "../lib/place.js";
import {Table} from "../lib/table.js";
import {lasted, money, when} from "../lib/words.js";
import {Filters, Histogram, counted} from "./verdict-filters.js";
import {Verdict, decision} from "./verdict.js";
import {Queue} from "./verdict-queue.js";
import {askForNews, clear, fetchVerdict, fetched, filters, isFiltered, key, label, list, load, memory, mineOf, more, pause, resume, undo} from "./verdicts-state.js";

const NEWS = 5000; // milliseconds between two requests for newer ones
const QUIET = 400; // milliseconds without a change of the filters, after which better numbers are requested
const wide = matchMedia("(min-width: 1100px)");
const isWide = signal(wide.matches);
wide.addEventListener("change", () => (isWide.value = wide.matches));

const cursor = signal(null); // the id of the row under the cursor
const at = computed(() => list.value.rows.findIndex(({id}) => id === cursor.value));
const opened = computed(() => steps.value[1] ?? query.value.get("open"));

/** Show a row: beside the list if there is room, else as its own page. */
function open(row, {replace = false} = {}) {
  cursor.value = row.id;
  if (steps.value[1] || !isWide.value) go(link("verdicts", row.id, filters.value), {replace: replace && Boolean(steps.value[1])});
  else refine({open: row.id}, {replace: replace || Boolean(query.value.get("open"))});
}

function step(by) {
  const {rows} = list.value;
  if (!rows.length) return;
  const next = at.value < 0 ? 0 : Math.max(0, Math.min(at.value + by, rows.length - 1));
  if (next + 2 > rows.length) more();
  if (opened.value) open(rows[next], {replace: true});
  else cursor.value = rows[next].id;
}

/** Label the row under the cursor and move on; an opened verdict that is not in the list stays. */
function judge(outcome) {
  const row = list.value.rows[at.value] ?? fetched(opened.value)?.row;
  if (!row || !may("label")) return;
  label(row, outcome);
  if (at.value >= 0) step(1);
}

function takeBack() {
  const entry = may("label") && undo();
  if (!entry) return;
  const row = list.value.rows.find(({id}) => id === entry.row.id);
  if (row && opened.value) open(row, {replace: true});
  else if (row) cursor.value = row.id;
}

const SAID = {right: "✓ right", wrong: "✗ wrong", both: "✓✗ disagree"};
const saidOf = (row) => mineOf(row) || row.label;
const kindOf = (row) => `${row.ok ? row.outcome : "refused"} said-${["right", "wrong", "both"].includes(saidOf(row)) ? saidOf(row) : "other"}`;

/** The beginning of a reply, or the text around the match. */
function Excerpt({row}) {
  if (row.excerpt === null) return html`<i class="soft">text not kept</i>`;
  if (!row.excerpt) return html`<i class="soft">empty</i>`;
  if (!row.found) return row.excerpt;
  const [start, end] = row.found;
  return html`${row.excerpt.slice(0, start)}<mark>${row.excerpt.slice(start, end)}</mark>${row.excerpt.slice(end)}`;
}

const COLUMNS = {
  when: ["Time", (row) => when(row.at)],
  verdict: ["Verdict", decision],
  reply: ["Reply", (row) => html`<${Excerpt} row=${row} />`],
  codes: ["Codes", (row) => `${row.codes.slice(0, 2).join(" ")}${row.codes.length > 2 ? ` +${row.codes.length - 2}` : ""}`],
  contract: ["Contract", (row) => (row.state ? `${row.contract} · ${row.state}` : row.contract)],
  model: ["Model", (row) => row.model],
  tenant: ["Tenant", (row) => row.tenant],
  spent: ["Latency, cost", (row) => [row.latency ? lasted(row.latency) : "", row.cost ? money(row.cost) : "", row.attempts > 1 ? `${row.attempt} of ${row.attempts}` : ""].filter(Boolean).join(" · ")],
  said: ["Label", (row) => SAID[saidOf(row)] ?? saidOf(row)],
};
const SHOWN = [[1500, Object.keys(COLUMNS)], [900, ["when", "verdict", "reply", "codes", "contract", "model", "said"]], [560, ["when", "verdict", "reply", "codes", "said"]], [0, ["verdict", "reply", "when"]]];
const DROPPED = ["spent", "tenant", "model", "contract"]; // on a tall screen, so that the page stays small
const MOST_CELLS = 400;
const width = signal(1400);

function columnsFor(pixels) {
  const names = SHOWN.find(([least]) => pixels >= least)[1];
  const most = Math.max(5, Math.floor(MOST_CELLS / ((innerHeight - 280) / 30 + 2)) - 1);
  const dropped = DROPPED.slice(0, Math.max(0, names.length - most));
  return names.filter((name) => !dropped.includes(name));
}

function Empty() {
  if (isFiltered.value) return html`<div class="note"><p>No verdict matches these filters.</p><p><button type="button" onClick=${clear}>Clear the filters</button></p></div>`;
  return html`<div class="note"><p>The store has no verdicts yet.</p><${Filling} /></div>`;
}

/** The text below the last row: how far the search has come, or that the list is complete. */
function End() {
  const {rows, next, until, isBusy, isPaused, isLoaded, failure} = list.value;
  if (failure) return html`<div class="end"><${Failed} failure=${failure} /><p><button type="button" onClick=${resume}>Try again</button></p></div>`;
  if (!isLoaded) return html`<p class="end soft" aria-busy="true">Loading…</p>`;
  if (next && until) {
    const back = `Searched back to ${when(until)}.`;
    return html`<p class="end soft" role="status">${back} ${isPaused ? html`<button type="button" onClick=${resume}>Search further back</button>` : html`<span aria-busy="true">Searching further back…</span> <button type="button" onClick=${pause}>Stop</button>`}</p>`;
  }
  if (next) return html`<p class="end soft">${isBusy ? "Loading…" : ""}</p>`;
  return rows.length ? html`<p class="end soft">End of the list.</p>` : html`<${Empty} />`;
}

function told(total) {
  if (total.capped && !total.count) return "";
  const [noun, verb] = total.count === 1 && !total.capped ? ["verdict", "matches"] : ["verdicts", "match"];
  return `${counted(total)} ${noun}${isFiltered.value ? ` ${verb}` : ""}`;
}

/** The number of matching verdicts, from the counts or the rows. A complete list is exact. */
function totalOf(counted) {
  const {rows, next, isLoaded} = list.value;
  if (isLoaded && next === null) return {count: rows.length};
  return counted?.capped ? {...counted, count: Math.max(counted.count, rows.length)} : counted;
}

function List({counts, isCounting, reload, search}) {
  const {rows, news, isBusy, isLoaded} = list.value;
  const names = columnsFor(width.value);
  const columns = names.map((name) => [name, COLUMNS[name][0]]);
  const isNarrow = names.length === 3;
  const total = totalOf(isCounting ? null : counts?.total); // the total for other filters would be wrong
  const aside = html`${news.count > 0 && html`<button type="button" class="small news" onClick=${() => (cursor.value = null, load({again: true}), reload())}>${counted(news)} new</button>`}
    ${may("label") && html`<a class="button small" href=${link("verdicts", {...filters.value, queue: 1})}>Label a queue <${Key}>q<//></a>`}`;
  const foot = html`<span class="num" aria-live="polite">${total ? told(total) : ""}</span>
    <span class="keys">${[["j k", "move"], ["Enter", "open"], ...(may("label") ? [["r", "right"], ["w", "wrong"], ["u", "undo"]] : [])].map(([name, word]) => html`<span key=${name}><${Key}>${name}<//> ${word}</span> `)}</span>`;
  return html`<${Panel} title="Verdicts" class="verdicts" aside=${aside} foot=${foot} data-rows=${isLoaded && list.value.key === key.value ? "ready" : undefined} data-counts=${isCounting ? undefined : "ready"}>
    <${Filters} counts=${counts} search=${search} />
    <${Histogram} />
    <${Table} columns=${columns} rows=${rows} cells=${(row) => names.map((name) => COLUMNS[name][1](row))} keyOf=${(row) => row.id} kindOf=${kindOf} at=${at.value} label="Verdicts, newest first" height=${isNarrow ? 46 : 30}
      count=${total && !total.capped ? total.count : -1} memory=${memory} onOpen=${(index) => open(rows[index])} onEnd=${more} onWidth=${(pixels) => (width.value = pixels)} end=${html`<${End} />`} />
    ${isBusy && html`<span class="progress" role="presentation"></span>`}
  <//>`;
}

/** The numbers of verdicts: quick ones first. If time ran out for those, better ones follow once the filters stay unchanged. */
function useCounts() {
  const {data: quick, busy: isCounting, reload} = useLoaded("/verdicts/counts", filters.value);
  const isRough = !isCounting && quick?.hurried;
  const {data: better, busy} = useLoaded(isRough ? "/verdicts/counts" : null, {...filters.value, patient: true}, {after: QUIET});
  return {counts: isRough && !busy && better ? better : quick, isCounting, reload};
}

function Browse() {
  const search = useRef();
  const {counts, isCounting, reload} = useCounts();
  const id = opened.value;
  useEffect(() => load(), [key.value]);
  useEffect(() => {
    if (id) cursor.value = id;
  }, [id]);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setInterval(() => askForNews(abort.signal), NEWS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [key.value]);
  useEffect(() => {
    // Load the next one before it is opened.
    const next = list.value.rows[at.value + 1];
    if (id && next) fetchVerdict(next.id).catch(() => {});
  }, [id, at.value]);
  const close = () => (steps.value[1] ? go(link("verdicts", filters.value)) : query.value.get("open") ? refine({open: ""}, {replace: false}) : (cursor.value = null));
  useKeys({
    j: ["next verdict", () => step(1)],
    k: ["previous verdict", () => step(-1)],
    ArrowDown: ["next verdict", () => step(1)],
    ArrowUp: ["previous verdict", () => step(-1)],
    PageDown: ["20 rows down", () => step(20)],
    PageUp: ["20 rows up", () => step(-20)],
    Home: ["newest verdict", () => step(-list.value.rows.length)],
    End: ["oldest verdict that is loaded", () => step(list.value.rows.length)],
    Enter: ["open the verdict", () => at.value >= 0 && open(list.value.rows[at.value])],
    Escape: ["back to the list", close],
    "/": ["search the replies", () => (search.current ? search.current.focus() : go(link("verdicts", filters.value)))],
    ...(may("label") && {
      r: ["right: the decision is right; move on", () => judge("right")],
      w: ["wrong: a false alarm, or a fault that was missed; move on", () => judge("wrong")],
      x: ["skip: leave it open; move on", () => judge("skipped")],
      u: ["undo the last label", takeBack],
      q: ["label a queue of uncertain verdicts", () => go(link("verdicts", {...filters.value, queue: 1}))],
    }),
  });
  const row = list.value.rows[at.value]?.id === id ? list.value.rows[at.value] : null;
  if (steps.value[1] || (id && !isWide.value)) {
    const {rows} = list.value;
    const neighbour = (by) => rows[at.value + by] && at.value >= 0 && html`<button type="button" class="small" aria-label=${by < 0 ? "Previous verdict" : "Next verdict"} onClick=${() => open(rows[at.value + by], {replace: true})}>${by < 0 ? "↑" : "↓"}</button>`;
    return html`<nav class="crumbs" aria-label="Place"><a href=${link("verdicts", filters.value)}>← Verdicts</a><span class="soft mono cut" title=${id}>${id}</span><span class="right">${neighbour(-1)}${neighbour(1)}</span></nav>
      <${Verdict} id=${id} row=${row} onLabel=${judge} isPage />`;
  }
  return html`<div class=${`columns ${id ? "beside" : ""}`}>
    <${List} counts=${counts} isCounting=${isCounting} reload=${reload} search=${search} />
    ${id && html`<${Verdict} id=${id} row=${row} onLabel=${judge} onClose=${close} />`}
  </div>`;
}

export function Verdicts() {
  if (!about.value.store) return html`<${NoStore} title="Verdicts" />`;
  return query.value.get("queue") && !steps.value[1] ? html`<${Queue} />` : html`<${Browse} />`;
}
