// The queue: uncertain verdicts and a random sample of accepted ones, one by one, each answered with one key, as in `trueup label`.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {may} from "../lib/about.js";
import {useKeys} from "../lib/keys.js";
import {Waiting, useLoaded} from "../lib/load.js";
import {Key, Panel, Tag} from "../lib/parts.js";
import {go, link, query} from "../lib/place.js";
import {count, number, when} from "../lib/words.js";
import {Verdict} from "./verdict.js";
import {fetchVerdict, filters, label, mineOf, undo} from "./verdicts-state.js";

const SIZE = 30;
const AHEAD = 3; // verdicts that are fetched before they are shown

function source(found) {
  const {seen, since, all} = found.from;
  const words = `Chosen from ${all ? "all" : "the newest"} ${count(seen, "verdict")}${Object.keys(filters.value).length ? " that match your filters" : ""}${all || !since ? "" : `, back to ${when(since)}`}.`;
  const gone = Object.entries(found.unreadable).map(([why, n]) => `${number(n)} cannot be shown: ${why}.`).join(" ");
  return `${words} ${gone}`;
}

function Done({entries, again, back, next}) {
  const said = entries.map(({row}) => mineOf(row)).filter(Boolean); // fewer than all if one was not stored
  const of = (word) => said.filter((each) => each === word).length;
  return html`<${Panel} title="Queue" aside=${html`<a class="button small" href=${back}>Back to the list</a>`}><div class="note">
    <p><b class="ok">${said.length < entries.length ? `${said.length} of` : "All"} ${number(entries.length)} answered.</b></p>
    <p>${number(of("right"))} right, ${number(of("wrong"))} wrong, ${number(of("skipped"))} skipped. <code>trueup tune</code> and the precision in Contracts use these labels.</p>
    <p class="buttons left">${said.length < entries.length && html`<button type="button" onClick=${next}>Show the others</button>`}<button type="button" class="main" onClick=${again}>Another queue</button></p></div><//>`;
}

export function Queue() {
  const seed = Number(query.value.get("seed") ?? 0);
  const {data, failure, busy, reload} = useLoaded("/queue", {...filters.value, limit: SIZE, seed});
  const entries = useSignal([]);
  const place = useSignal(0);
  const back = link("verdicts", filters.value);
  useEffect(() => {
    entries.value = data?.entries ?? [];
    place.value = 0;
  }, [data]);
  const all = entries.value;
  const entry = all[place.value];
  useEffect(() => {
    for (const {row} of all.slice(place.value, place.value + AHEAD)) fetchVerdict(row.id).catch(() => {});
  }, [all, place.value]);
  const promoted = useSignal(false);
  const answer = (outcome) => {
    if (!entry || !may("label")) return;
    // Earlier labels of replies in the random sample count for the sample from now on.
    const also = promoted.value ? [] : (data.promoted ?? []);
    promoted.value = true;
    label(entry.row, outcome, {drawn: entry.drawn, also});
    next();
  };
  /** Go to the next one without an answer; those that were passed over come last. */
  const next = () => {
    const isOpen = ({row}) => !mineOf(row);
    const later = all.findIndex((each, at) => at > place.value && isOpen(each));
    const first = all.findIndex(isOpen);
    place.value = later >= 0 ? later : first >= 0 ? first : all.length;
  };
  const takeBack = () => {
    const entry = undo();
    const at = entry ? all.findIndex(({row}) => row.id === entry.row.id) : -1;
    if (at >= 0) place.value = at;
  };
  const again = () => {
    promoted.value = false;
    reload();
  };
  useKeys({
    ...(may("label") && {
      r: ["right: the decision is right", () => answer("right")],
      w: ["wrong: a false alarm, or a fault that was missed", () => answer("wrong")],
      x: ["skip: leave it open", () => answer("skipped")],
      s: ["skip: leave it open", () => answer("skipped")],
      u: ["undo the last answer", takeBack],
    }),
    j: ["next one, without answering", () => (place.value = Math.min(place.value + 1, Math.max(0, all.length - 1)))],
    k: ["previous one", () => (place.value = Math.max(0, place.value - 1))],
    Escape: ["back to the list", () => go(back)],
  });
  if (!data) return html`<${Panel} title="Queue"><${Waiting} failure=${failure} busy=${busy} /><//>`;
  if (!data.entries.length) {
    return html`<${Panel} title="Queue" aside=${html`<a class="button small" href=${back}>Back to the list</a>`}><div class="note"><p>${data.from.seen ? `Nothing left to label: ${count(data.from.seen, "verdict")}, ${number(data.labelled)} of them labelled by you.` : "No verdict matches these filters."}</p>
      <p class="soft">${data.from.seen > 0 && source(data)}</p></div><//>`;
  }
  if (!all.length) return null;
  if (!entry) return html`<${Done} entries=${all} again=${again} back=${back} next=${next} />`;
  const answered = all.filter(({row}) => mineOf(row)).length;
  const above = html`<div class="queue"><progress max=${all.length} value=${place.value} aria-label="Progress"></progress>
    <p><b class="num">${place.value + 1} of ${all.length}</b> <${Tag} kind=${entry.drawn === "random" ? "" : "uncertain"}>${entry.drawn === "random" ? "random sample" : "uncertain"}<//> <span class="soft">${entry.drawn === "random" ? "drawn at random from accepted replies; only these show missed faults" : entry.why.join(" · ")}</span></p></div>`;
  return html`<nav class="crumbs" aria-label="Place"><a href=${back}>← Verdicts</a><span class="soft cut" title=${source(data)}>${source(data)}</span>${may("label") && html`<span class="right soft num">${count(answered, "answer")} <${Key}>u<//> undo</span>`}</nav>
    <${Verdict} id=${entry.row.id} row=${entry.row} title="Queue" isBig above=${above} onLabel=${(outcome) => answer(outcome)} />`;
}
