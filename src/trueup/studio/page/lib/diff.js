// Fixes as a diff. It takes a text with its facts and shows each changed line before and after the change, with the codes below it.
import {useMemo, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {count} from "./words.js";
import {cut, kindOf, summary} from "./facts.js";

const MOST = 100; // blocks at first; a click shows more
const AROUND = 2; // unchanged lines shown around a block
const LONG_LINE = 600;
const LONG_BLOCK = 24; // lines of one side

/** Changes in text order, never nested: if two are in the same place, the later one wins. */
function merged(changes) {
  const out = [];
  for (const change of changes.sort((one, other) => one.start - other.start || one.end - other.end)) {
    const before = out.at(-1);
    if (!before || change.start >= before.end && !(change.start === before.start && change.end === before.end)) {
      out.push({...change, facts: [change.fact]});
      continue;
    }
    if ((change.start === before.start && change.end === before.end) || change.end > before.end) Object.assign(before, {end: Math.max(before.end, change.end), after: change.after});
    before.facts.push(change.fact);
  }
  return out;
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts, at) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Pieces `[text, changed]` as lines of pieces. */
function linesOf(pieces) {
  const lines = [[]];
  for (const [text, changed] of pieces) {
    const [head, ...tail] = text.split(/\r?\n/);
    lines.at(-1).push([head, changed]);
    for (const part of tail) lines.push([[part, changed]]);
  }
  return lines;
}

/** The blocks of a diff: `{first, last, old, now, facts}`; lines count from 0. */
export function blocksOf({text, marks, facts}) {
  const starts = lineStarts(text);
  const end = (line) => (line + 1 < starts.length ? starts[line + 1] - 1 : text.length);
  const changes = [];
  for (const [from, to, index] of marks) {
    const fact = facts[index];
    if (fact?.kind !== "fix") continue;
    let [start, stop] = [from, to];
    if (!fact.after || fact.reading) {
      while (start < stop && "\r\n".includes(text[start])) start += 1;
      while (stop > start && "\r\n".includes(text[stop - 1])) stop -= 1;
    }
    changes.push({start, end: stop, after: fact.reading ? null : fact.after, fact: index});
  }
  const blocks = [];
  for (const change of merged(changes)) {
    const first = lineOf(starts, change.start);
    const last = lineOf(starts, Math.max(change.start, change.end - 1));
    const before = blocks.at(-1);
    if (before && first <= before.last) {
      before.changes.push(change);
      before.last = Math.max(before.last, last);
    } else blocks.push({first, last, changes: [change]});
  }
  for (const block of blocks) {
    const old = [];
    const now = [];
    let at = starts[block.first];
    for (const {start, end: stop, after} of block.changes) {
      const same = [text.slice(at, start), ""];
      old.push(same, [text.slice(start, stop), after === null ? "read" : "gone"]);
      now.push(same, after === null ? [text.slice(start, stop), ""] : [after, "new"]);
      at = stop;
    }
    const rest = [text.slice(at, end(block.last)), ""];
    block.reads = block.changes.every(({after}) => after === null);
    block.old = linesOf([...old, rest]);
    block.now = block.reads ? [] : linesOf([...now, rest]).filter((line) => line.some(([part]) => part.trim()));
    block.facts = [...new Set(block.changes.flatMap(({facts: which}) => which))];
  }
  return {blocks, lines: starts.length, line: (at) => text.slice(starts[at], end(at)).replace(/\r$/, "")};
}

const short = (text) => (text.length <= LONG_LINE ? text : `${text.slice(0, LONG_LINE / 2)} … ${text.slice(-LONG_LINE / 2)}`);

function Line({number, sign, pieces}) {
  return html`<div class=${`line ${{"-": "was", "+": "now", "~": "read"}[sign] ?? ""}`}><span class="number" aria-hidden="true">${number ?? ""}</span><span class="sign">${sign}</span><span class="words">${pieces.map(([text, changed], at) => (changed ? html`<${changed === "gone" ? "del" : changed === "new" ? "ins" : "span"} key=${at} class=${changed}>${short(text)}<//>` : short(text)))}</span></div>`;
}

function Block({block, facts, chosen, onChoose}) {
  const side = (lines, sign, from) => [
    ...lines.slice(0, LONG_BLOCK).map((pieces, at) => html`<${Line} key=${`${sign}${at}`} number=${from === null ? null : from + at + 1} sign=${sign} pieces=${pieces} />`),
    lines.length > LONG_BLOCK && html`<div class="line skipped" key=${`${sign}more`}>… ${count(lines.length - LONG_BLOCK, "more line")}</div>`,
  ];
  const codes = new Map();
  for (const index of block.facts) codes.set(facts[index].code, [...(codes.get(facts[index].code) ?? []), index]);
  return html`<div class="block">
    ${side(block.old, block.reads ? "~" : "-", block.first)}${side(block.now, "+", null)}
    <div class="codes">${[...codes].slice(0, 12).map(([code, which]) => html`<button type="button" key=${code} class=${`tag ${kindOf(facts[which[0]])}`} aria-pressed=${which.includes(chosen)}
      onClick=${() => onChoose?.(which[(which.indexOf(chosen) + 1) % which.length])}><b>${code}</b> <bdi>${cut(summary(facts[which[0]]), 70)}</bdi>${which.length > 1 ? ` ×${which.length}` : ""}</button>`)}</div>
  </div>`;
}

/** The fixes of a verdict (`drawn`) as a diff; `chosen` and `onChoose(index)` as in the list of facts. */
export function Diff({drawn, chosen = null, onChoose}) {
  const {blocks, lines, line} = useMemo(() => blocksOf(drawn), [drawn]);
  const most = useSignal(MOST);
  if (!blocks.length) return html`<p class="note">Nothing was changed: the reply was read as it is.</p>`;
  const shown = blocks.slice(0, most.value);
  const parts = [];
  const plain = (from, to) => {
    for (let at = from; at < to; at += 1) parts.push(html`<${Line} key=${`=${at}`} number=${at + 1} sign=" " pieces=${[[line(at), ""]]} />`);
  };
  let at = 0;
  for (const block of shown) {
    const gap = block.first - at;
    if (gap > AROUND * 2 + 1) {
      if (at) plain(at, at + AROUND);
      const hidden = gap - (at ? AROUND * 2 : AROUND);
      parts.push(html`<div class="line skipped" key=${`…${at}`}>${count(hidden, "unchanged line")}</div>`);
      plain(block.first - AROUND, block.first);
    } else plain(at, block.first);
    parts.push(html`<${Block} key=${`b${block.first}`} block=${block} facts=${drawn.facts} chosen=${chosen} onChoose=${onChoose} />`);
    at = block.last + 1;
  }
  if (blocks.length > shown.length) parts.push(html`<p class="more"><button type="button" onClick=${() => (most.value += 400)}>Show more</button> <span class="soft">${count(blocks.length - shown.length, "more change")}</span></p>`);
  else {
    plain(at, Math.min(at + AROUND, lines));
    if (lines > at + AROUND) parts.push(html`<div class="line skipped" key="end">${count(lines - at - AROUND, "unchanged line")}</div>`);
  }
  return html`<div class="diff scroll" tabindex="0" role="region" aria-label="Fixes as a diff">${parts}</div>`;
}
