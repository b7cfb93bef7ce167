// The units of a run, failed ones first, loaded as the user scrolls. The filters are in the URL.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {get} from "../lib/api.js";
import {Failed} from "../lib/load.js";
import {Tag} from "../lib/parts.js";
import {Table} from "../lib/table.js";
import {go, query, refine} from "../lib/place.js";
import {useKeys} from "../lib/keys.js";
import {pathOf} from "../lib/facts.js";
import {count, number} from "../lib/words.js";
import {runLink} from "./run-words.js";

const PAGE = 100;
const NAMES = ["kind", "step", "code", "path", "text"];
const TYPING = 200;
const LOOKS = 40; // requests without a match, after which the user is asked
const NARROW = 560;

/** The filters in the URL. */
export const wanted = () => Object.fromEntries(NAMES.map((name) => [name, query.value.get(name) ?? ""]));

// The last list as far as it was read, for the way back from a unit and to the next one.
let kept = {key: ""};

/** The address of the unit after or before another one in the list last shown; null if there is none. */
export function beside(run, unit, at, by) {
  const place = kept.rows?.findIndex((row) => row.at === at && row.unit === unit) ?? -1;
  const next = place < 0 || kept.run !== run ? undefined : kept.rows[place + by];
  return next ? runLink(run, {...kept.given, unit: next.unit, at: next.at}) : null;
}

const Choice = ({label, value, names, onChange}) => html`<select aria-label=${label} value=${value} onChange=${(event) => onChange(event.target.value)}>${names.map(([id, title]) => html`<option key=${id} value=${id} selected=${id === value}>${title}</option>`)}</select>`;

function Filters({row, given, field}) {
  const typed = useSignal(given.text);
  const timer = useRef(0);
  useEffect(() => {
    typed.value = given.text;
  }, [given.text]);
  const set = (changes) => refine({...changes, unit: "", at: ""});
  const type = (event) => {
    typed.value = event.target.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set({text: typed.value}), TYPING);
  };
  const fits = (fact) => (!given.step || !fact.step || fact.step === given.step) && (given.kind !== "failed" || fact.kind === "failure") && (given.kind !== "valid" || fact.kind !== "failure");
  const codes = [...new Set([...(given.code ? [given.code] : []), ...(row.facts ?? []).filter(fits).map((fact) => fact.code)])].sort();
  return html`<div class="run-filters">
    <${Choice} label="Outcome" value=${given.kind} names=${[["", "All outcomes"], ["failed", "Failed"], ["valid", "Valid"]]} onChange=${(kind) => set({kind})} />
    <${Choice} label=${row.kind === "run" ? "Step" : "Stage"} value=${given.step} names=${[["", row.kind === "run" ? "All steps" : "All stages"], ...row.steps.map(({step, title}) => [step, title])]} onChange=${(step) => set({step})} />
    <${Choice} label="Code" value=${given.code} names=${[["", "All codes"], ...codes.map((code) => [code, code])]} onChange=${(code) => set({code})} />
    <input type="search" ref=${field} value=${typed.value} placeholder="Text, message or id" aria-label="Text, message or id" onInput=${type} />
    ${given.path && html`<button type="button" class="chip" title="Show units with errors at any path" onClick=${() => set({path: ""})}><bdi class="mono">${pathOf(given.path) || "$"}</bdi> ×</button>`}
  </div>`;
}

/** The rows so far, and a way to ask for more. If a request of a search finds nothing, the search continues automatically for a while. */
function useUnits(run, given, key) {
  const state = useSignal(kept.key === key ? kept : null);
  const turn = useRef(null);
  const put = (value) => (state.value = kept = {...value, run, given, key});
  const more = async (from) => {
    turn.current?.abort();
    const abort = (turn.current = new AbortController());
    let now = from;
    put({...now, busy: true, failure: null});
    try {
      for (let looks = 0; looks < LOOKS; looks += 1) {
        const page = await get("/runs/units", {run, ...given, cursor: now.next, limit: PAGE}, abort.signal);
        now = {...now, rows: [...now.rows, ...page.rows], next: page.next, read: now.read + page.searched.read, damaged: now.damaged + page.searched.damaged};
        const waits = !page.rows.length && page.next;
        put({...now, busy: Boolean(waits)});
        if (!waits) return;
      }
      put({...now, busy: false, asks: true});
    } catch (failure) {
      if (failure.name !== "AbortError") put({...now, busy: false, failure});
    }
  };
  const begin = () => more({rows: [], next: "", read: 0, damaged: 0, memory: {}});
  useEffect(() => {
    if (kept.key === key && kept.rows) state.value = kept;
    else begin();
    return () => turn.current?.abort();
  }, [key]);
  return {...(state.value?.key === key ? state.value : {rows: null, busy: true}), begin, more: () => state.value && !state.value.busy && state.value.next && more({...state.value, asks: false})};
}

const COLUMNS = [["unit", "Unit"], ["state", "Outcome"], ["codes", "Codes"], ["says", "Message and reply"]];
const CELLS = {
  unit: (unit, href) => html`<a href=${href} title=${unit.unit}><bdi>${unit.unit}</bdi></a>${unit.step && html`<span class="soft">${unit.step}</span>`}`,
  state: (unit) => html`<${Tag} kind=${unit.state === "valid" ? "ok" : "failed"}>${unit.state}<//>`,
  codes: (unit) => html`${unit.codes.slice(0, 2).join(" ")}${unit.codes.length > 2 ? ` +${unit.codes.length - 2}` : ""}`,
  says: (unit) => html`${unit.message && html`<bdi title=${unit.message}>${unit.message}</bdi>`}<bdi class="mono soft">${unit.excerpt}</bdi>`,
};

export function Units({row}) {
  const given = wanted();
  const key = JSON.stringify([row.run, given]);
  const {rows, next, busy, asks, failure, read, damaged, memory, begin, more} = useUnits(row.run, given, key);
  const at = useSignal(-1);
  const width = useSignal(800);
  const field = useRef();
  const seen = useRef("");
  const now = `${row.valid} ${row.failed} ${row.state}`;
  useEffect(() => {
    at.value = -1;
    seen.current = now;
  }, [key]);
  useEffect(() => {
    if (rows && !rows.length && !busy && !next && seen.current !== now) renew();
  }, [now]);
  const renew = () => {
    seen.current = now;
    begin();
  };
  const href = (unit) => runLink(row.run, {...given, unit: unit.unit, at: unit.at});
  const move = (by) => (at.value = Math.max(0, Math.min((rows?.length ?? 0) - 1, at.value + by)));
  useKeys({
    j: ["next unit", () => move(1)],
    k: ["previous unit", () => move(-1)],
    Enter: ["open the unit", () => rows?.[at.value] && go(href(rows[at.value]))],
    "/": ["filter units", () => field.current?.focus()],
  });
  const isNarrow = width.value < NARROW;
  const names = isNarrow ? ["unit", "says"] : COLUMNS.map(([id]) => id);
  const columns = COLUMNS.filter(([id]) => names.includes(id));
  const cells = (unit) => names.map((name) => (isNarrow && name === "unit" ? html`${CELLS.unit({...unit, step: ""}, href(unit))}<span class="short">${CELLS.state(unit)} ${CELLS.codes(unit)}</span>` : CELLS[name](unit, href(unit))));
  return html`<${Filters} row=${row} given=${given} field=${field} />
    ${failure ? html`<${Failed} failure=${failure} />${failure.code === "changed" && html`<p class="note"><button type="button" onClick=${renew}>Start from the top</button></p>`}`
      : rows?.length ? html`<${Table} label="Units, failed ones first" columns=${columns} rows=${rows} cells=${cells} keyOf=${(unit) => unit.at} at=${at.value} height=${46} memory=${memory}
          onOpen=${(index) => go(href(rows[index]))} onEnd=${() => !asks && more()} onWidth=${(pixels) => (width.value = pixels)} />`
      : html`<p class="note" aria-busy=${busy}>${busy ? "Reading…" : next ? "Nothing found so far." : `${Object.values(given).some(Boolean) ? "No unit matches. " : row.running ? "" : "There are no units."}${row.running ? "Units are listed once their chunk has finished a step." : ""}`}</p>`}
    <div class="foot"><span class="num" role="status">${rows && !failure ? `${number(rows.length)}${next ? "+" : ""} ${rows.length === 1 && !next ? "unit" : "units"}${read > rows.length ? ` of ${number(read)} searched` : ""}${damaged ? `, ${count(damaged, "line")} cannot be read` : ""}${busy ? " · searching…" : ""}` : ""}</span>
      <span class="tools">${asks && html`<button type="button" onClick=${more}>Continue the search</button>`}${seen.current !== now && rows && html`<button type="button" onClick=${renew}>Refresh: there are new results</button>`}
        <span class="keys" aria-hidden="true"><kbd>j</kbd><kbd>k</kbd> move <kbd>Enter</kbd> open</span></span></div>`;
}
