// Flips: the effect of a contract change on stored replies, as figures and as a list to step through.
import {useRef, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {may} from "./about.js";
import {post} from "./api.js";
import {useKeys} from "./keys.js";
import {Code, Key, Panel, Tag, say} from "./parts.js";
import {query, refine} from "./place.js";
import {count, lasted, money, number} from "./words.js";

export const KINDS = {newly_accepted: "newly accepted", newly_refused: "newly refused", value_changed: "another value"};
const SHOWN = 100; // rows shown at first

// -- figures ---------------------------------------------------------------------------------------

/** A share with as many digits as it needs: `27 %`, `0.89 %`, `0.021 %`. */
export function share(value, more = 0) {
  const hundred = value * 100;
  if (!(hundred > 0 && hundred < 100)) return `${Math.round(hundred) || 0} %`;
  const near = hundred > 50 ? 100 - hundred : hundred;
  let digits = 0;
  while (digits < 6 && near * 10 ** digits < 1) digits += 1;
  if (near < 10 && near * 10 ** digits < 10) digits += 1;
  return `${Number(hundred.toFixed(digits + more))} %`;
}

/** The ends of an interval, with enough digits to differ: `0.81–0.98`. */
export function interval(low, high) {
  let [a, b] = ["", ""];
  for (let more = 0; more < 4 && a === b; more += 1) [a, b] = [share(low, more), share(high, more)];
  return `${a.slice(0, -2)}–${b.slice(0, -2)}`;
}

export const p = (value) => (value < 0.001 ? "p < 0.001" : `p = ${Number(value.toPrecision(2))}`);

const rounded = (value) => (Math.abs(value) >= 10 || Number.isInteger(value) ? Math.round(value) : Number(value.toPrecision(2)));
export const signed = (value) => (value < 0 ? `−${number(rounded(-value))}` : value > 0 ? `+${number(rounded(value))}` : "0");

/** The figures of a backtest as cards. If only a part of the replies was judged, the figures are estimates. */
export function Figures({found}) {
  const rate = (name) => {
    const {n, share: part, low, high} = found.rates[name];
    return n ? html`${share(part)} · <span title="95 % interval">${interval(low, high)}</span>` : "no reply judged";
  };
  return html`<div class="cards figures">
    <${Card} figure=${found.newly_accepted} kind=${found.newly_accepted ? "ok" : ""} title="newly accepted">${rate("newly_accepted")}<//>
    <${Card} figure=${found.newly_refused} kind=${found.newly_refused ? "bad" : ""} title="newly refused">${rate("newly_refused")}<//>
    ${found.value_changed > 0 && html`<${Card} figure=${found.value_changed} title="with another value">${rate("value_changed")}<//>`}
    <${Card} figure=${found.unchanged} title="unchanged"><${Tested} found=${found} /><//>
    <${Cost} cost=${found.cost} />
  </div>`;
}

function Card({figure, kind = "", title, children}) {
  return html`<section class="card"><p class=${`figure ${kind}`}>${typeof figure === "number" ? number(figure) : figure}</p><p>${title}</p><p class="soft">${children}</p></section>`;
}

function Tested({found}) {
  const {mcnemar, clustered} = found.tests;
  if (found.same_fingerprint) return "both contracts are the same";
  if (!found.judged) return "no reply judged";
  if (!found.newly_accepted && !found.newly_refused) return "no decision changed";
  const words = clustered ? `${number(clustered.clusters)} conversations, each counted once` : "exact McNemar test: are both directions equally likely?";
  return html`<span title=${words}>McNemar ${p((clustered ?? mcnemar).p)}${clustered && " by conversation"}</span>`;
}

const waiting = (seconds) => (seconds >= 10 && seconds < 90 ? `${Math.round(seconds)} s` : lasted(seconds));

function Cost({cost}) {
  const monthly = cost.monthly;
  const {asks, cost: micros, latency} = monthly ?? cost;
  const title = monthly ? "regenerations a month" : "regenerations";
  if (asks == null) return html`<${Card} figure="–" title=${title}>unknown: no request was repeated<//>`;
  const amounts = [micros != null && money(Math.abs(micros)), latency != null && `${waiting(Math.abs(latency))} of waiting time`].filter(Boolean);
  const what = amounts.length ? `${asks > 0 ? "costs" : "saves"} ${amounts.join(" and ")}` : "money and time were not recorded";
  return html`<${Card} figure=${signed(asks)} title=${title}>${asks ? what : "no request would be repeated"}<//>`;
}

/** The four cards before the first figures arrive. */
export const NoFigures = () => html`<div class="cards figures" aria-hidden="true">
  ${["newly accepted", "newly refused", "unchanged", "regenerations a month"].map((title) => html`<section class="card" key=${title}><p class="figure none">–</p><p>${title}</p><p class="soft">${" "}</p></section>`)}
</div>`;

// -- a text with marks -------------------------------------------------------------------------------

/** A text with ranges `[start, end]` marked; overlapping ranges are joined. */
export function Stretches({text, marks, kind}) {
  const parts = [];
  let at = 0;
  for (const [start, end] of [...(marks ?? [])].sort((a, b) => a[0] - b[0])) {
    if (end <= at || start >= end) continue;
    const from = Math.max(start, at);
    parts.push(text.slice(at, from), html`<mark class=${kind}>${text.slice(from, end)}</mark>`);
    at = end;
  }
  return html`${parts}${text.slice(at)}`;
}

const LEAD = 14; // characters before the first mark that a row shows

/** The reply of a flip in one row, starting shortly before its first mark. Marks come from the new contract, or else from the old one. */
export function Excerpt({flip}) {
  const isNew = flip.marks_new?.length > 0;
  const marks = isNew ? flip.marks_new : flip.marks_old ?? [];
  const first = Math.min(...marks.map(([start]) => start), flip.text.length);
  let from = first > LEAD * 1.5 ? first - LEAD : 0;
  if (/[\udc00-\udfff]/.test(flip.text[from] ?? "")) from -= 1;
  const shown = marks.map(([start, end]) => [start - from, end - from]);
  return html`${from > 0 && "…"}<${Stretches} text=${flip.text.slice(from)} marks=${shown} kind=${isNew ? "find" : "gone"} />`;
}

// -- the list ------------------------------------------------------------------------------------------

const LABELS = {better: ["new is right", "ok"], worse: ["new is wrong", "bad"], unlabelled: ["not labelled", "soft"]};
const reasons = (flip) => (flip.rules?.length ? flip.rules : flip.codes);
const FILTERS = [
  ["direction", "all directions", (flip) => [flip.kind], (kind) => KINDS[kind]],
  ["why", "all rules and codes", reasons],
  ["of_model", "all models", (flip) => [flip.model]],
  ["of_state", "all states", (flip) => [flip.state]],
  ["label", "all labels", (flip) => [flip.label], (label) => LABELS[label][0]],
];

/** The flips that match the query. */
const chosen = (flips) => FILTERS.reduce((left, [name, , of]) => {
  const wanted = query.value.get(name);
  return wanted ? left.filter((flip) => of(flip).includes(wanted)) : left;
}, flips);

function Filters({flips}) {
  return html`<span class="filters">${FILTERS.map(([name, all, of, word = String]) => {
    const counts = new Map();
    for (const flip of flips) for (const value of new Set(of(flip))) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    const value = query.value.get(name) ?? "";
    if (counts.size < 2 && !value) return null;
    const found = [...counts].sort((a, b) => b[1] - a[1]);
    if (value && !counts.has(value)) found.push([value, 0]);
    return html`<select key=${name} aria-label=${`Flips: ${all}`} value=${value} class=${value ? "set" : ""} onChange=${(event) => refine({[name]: event.currentTarget.value, flip: ""})}>
      <option value="">${all}</option>
      ${found.map(([each, n]) => html`<option key=${each} value=${each}>${word(each)} (${number(n)})</option>`)}
    </select>`;
  })}</span>`;
}

/** The labels of flips, kept while the list is shown: `[marks, say]`. A label says whether the new decision is right. */
function useLabels() {
  const given = useSignal({});
  const told = async (flip, right) => {
    const before = given.value[flip.id];
    const keep = (label) => (given.value = {...given.value, [flip.id]: label});
    if (before === (right ? "better" : "worse")) return;
    keep(right ? "better" : "worse");
    const outcome = flip.now === (flip.recorded ?? flip.was) ? right : !right; // a label is about the recorded decision
    try {
      await post("/labels", {items: [{verdict: flip.id, outcome: outcome ? "right" : "wrong"}]});
    } catch (failure) {
      keep(before);
      say(`Not labelled: ${failure.message}`, "bad");
    }
  };
  return [given.value, told];
}

/** The flips of a backtest: a table to step through, or one opened flip, which `open` draws. */
export function Flips({found, children, open: Open}) {
  const given = found.flips;
  const [marks, tell] = useLabels();
  const flips = given.map((flip) => (marks[flip.id] ? {...flip, label: marks[flip.id]} : flip));
  const rows = chosen(flips);
  const at = useSignal(-1); // the row under the cursor; none before the first key
  const shown = useSignal(SHOWN);
  const wanted = rows.findIndex((flip) => flip.id === query.value.get("flip"));
  const opened = wanted >= 0; // the flip in the URL may no longer exist
  const place = opened ? wanted : Math.min(at.value, rows.length - 1);
  const current = rows[place];
  const table = useRef();
  const move = (step) => {
    const from = opened ? place : Math.min(at.peek(), rows.length - 1);
    const next = Math.max(0, Math.min(rows.length - 1, from + step));
    at.value = next;
    if (next >= shown.value) shown.value = next + SHOWN;
    if (opened) refine({flip: rows[next].id});
    else focus(next);
  };
  const focus = (row) => {
    const found = table.current?.querySelectorAll("tbody button")[row];
    if (found) found.focus(); // immediately: the next key may be Enter
    else setTimeout(() => table.current?.querySelectorAll("tbody button")[row]?.focus());
  };
  const close = () => {
    at.value = place;
    refine({flip: ""});
    focus(place);
  };
  const label = (right) => {
    if (!current) return;
    tell(current, right);
    if (!query.value.get("label")) move(1);
    else if (opened) refine({flip: (rows[place + 1] ?? rows[place - 1])?.id}); // this one leaves the list
  };
  const labels = may("label") ? {r: ["the new decision is right; next", () => label(true)], w: ["the new decision is wrong; next", () => label(false)]} : {};
  useKeys(
    rows.length > 0 && {
      j: ["next flip", () => move(1)],
      k: ["previous flip", () => move(-1)],
      Enter: ["open the flip", () => !opened && refine({flip: (current ?? rows[0]).id}, {})],
      ...(opened ? {Escape: ["back to the list", close]} : {}),
      ...labels,
    },
    rows.length > 0,
  );
  const foot = html`<span><${Labelled} found=${found} flips=${flips} given=${given} rows=${rows} /></span>
    ${rows.length > 0 && html`<span class="keys"><${Key}>j<//><${Key}>k<//> move ${opened ? html`<${Key}>Esc<//> back` : html`<${Key}>Enter<//> open`}${may("label") && html` <${Key}>r<//> right <${Key}>w<//> wrong`}</span>`}`;
  if (opened) {
    const head = html`<button type="button" class="plain" onClick=${close}>← All flips</button>`;
    return html`<${Panel} class="flips" title=${`Flip ${number(place + 1)} of ${number(rows.length)}`} aside=${head} foot=${foot}>
      <${Open} key=${current.id} flip=${current} tell=${tell} /><//>`;
  }
  return html`<${Panel} class="flips" title="Flips" aside=${given.length > 0 && html`<${Filters} flips=${flips} />`} foot=${foot}>
    <div class="scroll" ref=${table} tabindex=${rows.length ? undefined : 0}>
      ${rows.length ? html`<${Rows} rows=${rows.slice(0, shown.value)} place=${place} onOpen=${(flip, n) => ((at.value = n), refine({flip: flip.id}, {}))} />` : html`<div class="note">${given.length ? html`<p>No flip matches these filters.</p>` : children}</div>`}
      ${rows.length > shown.value && html`<p class="note"><button type="button" onClick=${() => (shown.value += SHOWN)}>Show ${number(Math.min(SHOWN, rows.length - shown.value))} more</button></p>`}
    </div>
  <//>`;
}

function Rows({rows, place, onOpen}) {
  const [states, models] = [rows.some((flip) => flip.state), rows.some((flip) => flip.model)];
  return html`<table class="list">
    <thead><tr><th class="turn">Old → new</th><th class="wide">Reply</th>${states && html`<th class="state">State</th>`}<th class="rule">Rule</th>${models && html`<th class="model">Model</th>`}<th class="label">Label</th></tr></thead>
    <tbody>${rows.map((flip, at) => html`<tr key=${flip.id} class=${at === place ? "current" : ""} onClick=${() => onOpen(flip, at)}>
      <td><${Turn} flip=${flip} /></td>
      <td class="wide"><button type="button" class="row" tabindex=${at === Math.max(0, place) ? 0 : -1} aria-current=${at === place ? "true" : undefined} title=${flip.text.slice(0, 300)}><${Excerpt} flip=${flip} /></button></td>
      ${states && html`<td class="soft cut" title=${flip.state}>${flip.state || "–"}</td>`}
      <td class="cut" title=${reasons(flip).join(", ")}><${Code}>${reasons(flip).join(", ")}<//></td>
      ${models && html`<td class="soft cut" title=${flip.model}>${flip.model || "–"}</td>`}
      <td><${Label} label=${flip.label} /></td>
    </tr>`)}</tbody>
  </table>`;
}

export const Label = ({label}) => html`<span class=${`nowrap ${LABELS[label][1]}`}>${LABELS[label][0]}</span>`;

const side = (ok) => html`<${Tag} kind=${ok ? "accepted" : "refused"}>${ok ? "ok" : "refused"}<//>`;
export const Turn = ({flip}) => html`<span class="nowrap">${flip.kind === "value_changed" ? html`${side(true)} → <${Tag}>other value<//>` : html`${side(flip.was)} → ${side(flip.now)}`}</span>`;

function Labelled({found, flips, given, rows}) {
  const all = found.newly_accepted + found.newly_refused + found.value_changed;
  const moved = (label) => flips.filter((flip) => flip.label === label).length - given.filter((flip) => flip.label === label).length;
  const [better, worse] = ["better", "worse"].map((label) => found.labels[label] + moved(label));
  const parts = [count(all, "flip")];
  if (rows.length < given.length) parts.push(`${number(rows.length)} of them shown`);
  else if (given.length < all && given.length) parts.push(`${number(given.length)} of them listed, chosen at random`);
  if (all) parts.push(better + worse ? `${number(better + worse)} labelled: ${number(better)} better, ${number(worse)} worse` : "not labelled yet");
  return html`${parts.join(" · ")}`;
}
