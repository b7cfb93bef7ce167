// Changes of a text: it takes two texts, or a unified diff from the server, and returns lines with signs. The part of a line that differs is marked.
import {html} from "../lib/html.js";
import {shared} from "../lib/words.js";

const CONTEXT = 3;
const MOST = 4_000_000; // cells of the table of common lines

/** The lines of both texts in order: `{sign: " " | "-" | "+", text}`. */
export function lines(old, now) {
  const [a, b] = [old.split("\n"), now.split("\n")];
  const [head, tail] = shared(a, b);
  const signed = (sign) => (text) => ({sign, text});
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  return [...a.slice(0, head).map(signed(" ")), ...between(left, right, signed), ...a.slice(a.length - tail).map(signed(" "))];
}

function between(a, b, signed) {
  if (a.length * b.length > MOST) return [...a.map(signed("-")), ...b.map(signed("+"))];
  const wide = b.length + 1;
  const common = new Uint32Array((a.length + 1) * wide); // for the rest after each pair of lines
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * wide + j] = a[i] === b[j] ? common[(i + 1) * wide + j + 1] + 1 : Math.max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({sign: " ", text: a[i]});
      [i, j] = [i + 1, j + 1];
    } else if (i < a.length && (j === b.length || common[(i + 1) * wide + j] >= common[i * wide + j + 1])) found.push({sign: "-", text: a[i++]});
    else found.push({sign: "+", text: b[j++]});
  }
  return found;
}

/** The lines near changes, in hunks; `skipped` counts the lines before each. */
export function hunks(found) {
  const near = found.map(() => false);
  found.forEach((line, at) => {
    if (line.sign !== " ") near.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const made = [];
  let skipped = 0;
  found.forEach((line, at) => {
    if (!near[at]) skipped += 1;
    else if (at && near[at - 1]) made.at(-1).lines.push(line);
    else {
      made.push({skipped, lines: [line]});
      skipped = 0;
    }
  });
  return made;
}

/** How many places of a text have changed. */
export const changes = (found) => found.filter((line, at) => line.sign !== " " && (at === 0 || found[at - 1].sign === " ")).length;

/** The blocks that differ between two texts: `{from, to, now}`, where lines `from` up to `to` become those of `now`. */
function blocks(old, now) {
  const found = [];
  let at = 0;
  let open = false;
  for (const line of lines(old, now)) {
    if (line.sign === " ") [at, open] = [at + 1, false];
    else {
      if (!open) found.push({from: at, to: at, now: []});
      open = true;
      if (line.sign === "+") found.at(-1).now.push(line.text);
      else found.at(-1).to = at += 1;
    }
  }
  return found;
}

/** Both changes of a text in one; null if they touch adjacent lines, or the same lines in different ways. */
export function merged(base, theirs, mine) {
  const both = [...blocks(base, theirs), ...blocks(base, mine)];
  const all = [...new Map(both.map((block) => [JSON.stringify(block), block])).values()].sort((a, b) => a.from - b.from || a.to - b.to);
  if (all.some((block, at) => at > 0 && block.from <= all[at - 1].to)) return null;
  const made = base.split("\n");
  for (const block of all.toReversed()) made.splice(block.from, block.to - block.from, ...block.now);
  return made.join("\n");
}

/** A unified diff as hunks. */
export function parsed(diff) {
  const made = [];
  let file = "";
  const all = diff.replace(/\n$/, "").split("\n");
  for (let at = 0; at < all.length; at += 1) {
    const line = all[at];
    if (line.startsWith("--- ") && all[at + 1]?.startsWith("+++ ")) file = all[(at += 1)].slice(4).replace(/^b\//, "");
    else if (/^(@@|…)/.test(line)) made.push({file, skipped: null, lines: []});
    else if (!line.startsWith("\\")) made.at(-1)?.lines.push({sign: "-+".includes(line[0]) && line ? line[0] : " ", text: line.slice(1)});
  }
  return made.filter((hunk) => hunk.lines.length);
}

/** Where two lines differ, if they have enough in common. */
function differing(a, b) {
  const ends = shared(a, b);
  return ends[0] + ends[1] < Math.min(a.length, b.length) / 3 ? null : ends;
}

/** Each removed line with the added line that replaces it, if a block has as many of both. */
function paired(block) {
  const marks = new Map();
  for (let at = 0; at < block.length; ) {
    let minus = at;
    while (block[minus]?.sign === "-") minus += 1;
    let plus = minus;
    while (block[plus]?.sign === "+") plus += 1;
    if (minus - at === plus - minus)
      for (let n = 0; n < minus - at; n += 1) {
        const ends = differing(block[at + n].text, block[minus + n].text);
        if (ends) marks.set(block[at + n], ends).set(block[minus + n], ends);
      }
    at = Math.max(plus, at + 1);
  }
  return marks;
}

function Line({line, ends}) {
  const {sign, text} = line;
  const word = {"-": "removed", "+": "added"}[sign];
  const inner = ends ? [text.slice(0, ends[0]), html`<b>${text.slice(ends[0], text.length - ends[1])}</b>`, text.slice(text.length - ends[1])] : text;
  return html`<div class=${`patch-line ${word ?? ""}`}><span class="sign">${sign}</span><span>${inner}${"\n"}</span></div>`;
}

const isBlank = (line) => line?.sign === " " && line.text === ""; // such as the end of a text that ends with a line break

/** Draws hunks. */
export function Hunks({hunks: all, label = "Changes"}) {
  const given = all.map((hunk) => (isBlank(hunk.lines.at(-1)) ? {...hunk, lines: hunk.lines.slice(0, -1)} : hunk));
  return html`<div class="patch mono" role="group" aria-label=${label} tabindex="0">${given.map((hunk, at) => {
    const marks = paired(hunk.lines);
    return html`${hunk.file && hunk.file !== given[at - 1]?.file && given.some((other) => other.file !== hunk.file) && html`<div class="patch-file">${hunk.file}</div>`}
      ${(at > 0 || hunk.skipped > 0) && html`<div class="patch-skip">${hunk.skipped ? `${hunk.skipped} unchanged ${hunk.skipped === 1 ? "line" : "lines"}` : "⋯"}</div>`}
      ${hunk.lines.map((line) => html`<${Line} line=${line} ends=${marks.get(line)} />`)}`;
  })}</div>`;
}

export const Diff = ({old, now, ...rest}) => html`<${Hunks} hunks=${hunks(lines(old, now))} ...${rest} />`;
export const Patch = ({diff, ...rest}) => html`<${Hunks} hunks=${parsed(diff)} ...${rest} />`;
