// Words for runs: state, progress and numbers, the same in the list and on the page of one run.
import {html} from "../lib/html.js";
import {Tag} from "../lib/parts.js";
import {link} from "../lib/place.js";
import {lasted, money, number, percent} from "../lib/words.js";

const KINDS = {done: "ok", failed: "failed", damaged: "failed", interrupted: "warning", running: "busy", starting: "busy", reading: "busy"};
const WORDS = {ready: "not started"};

/** Milliseconds between two requests while nothing runs: other programs start, retry and delete runs too. */
export const IDLE = 4000;

export const State = ({row}) => html`<${Tag} kind=${KINDS[row.state] ?? ""}>${WORDS[row.state] ?? row.state}<//>`;
export const shareOf = ({done, total, state}) => (total ? Math.min(1, done / total) : state === "done" ? 1 : 0);
export const isBusy = (row) => Boolean(row && (row.running || row.state === "reading"));
/** The address of the page about a run, with parameters. */
export const runLink = (name, given = {}) => link("runs", ...name.split("/"), given);
/** The number of units after a fan-out; 0 without one. Valid and failed units are counted among these. */
export const fannedOut = ({units, valid, failed, waiting}) => (valid + failed + waiting > units ? valid + failed + waiting : 0);
/** The number of units that a bar in the list represents. A sift does not know its total, so it is estimated from its share of the work. */
export const wholeOf = (row) => (row.kind === "sift" && shareOf(row) ? row.units / shareOf(row) : Math.max(row.units, row.valid + row.failed + row.waiting));
/** The cost of a run; an unknown price never makes it zero. */
export const costOf = ({cost, unpriced, calls}) => (cost == null ? "–" : unpriced ? (calls && unpriced >= calls ? "unknown" : `${money(cost)} + ?`) : money(cost));
/** The progress of a run in words: `62 % · 14 a second · 3 min left`. */
export function paceOf(row) {
  const settled = row.valid + row.failed;
  if (row.state === "done") return settled ? `${percent(row.valid / settled)} valid` : "";
  const parts = [percent(shareOf(row))];
  if (row.running && row.rate != null) parts.push(`${row.rate < 10 ? row.rate.toFixed(1) : number(Math.round(row.rate))} a second`);
  if (row.running && row.left != null) parts.push(`${row.left < 90 ? `${Math.round(row.left)} s` : lasted(row.left)} left`);
  return parts.join(" · ");
}

/** A bar of outcomes: valid, failed, and the rest. Its numbers are beside it as text. */
export function Bar({valid, failed, whole}) {
  const part = (value) => ({width: `${whole ? Math.min(100, (100 * value) / whole) : 0}%`});
  return html`<span class="outcomes" aria-hidden="true"><i class="valid" style=${part(valid)}></i><i class="failed" style=${part(failed)}></i></span>`;
}

/** The share of work that is done; once the run is done, its outcomes. */
export const Progress = ({row}) => (row.state === "done"
  ? html`<${Bar} valid=${row.valid} failed=${row.failed} whole=${row.valid + row.failed} />`
  : html`<progress max="1" value=${shareOf(row)} aria-label=${`${row.title}: ${percent(shareOf(row))} done`} data-state=${row.state}></progress>`);
