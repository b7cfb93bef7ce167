// Evidence: each value of a reply beside the sources in which it was looked up. A value links to its places, and a place to its value.
import {useEffect, useMemo, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {Item, Rows, cut, pathOf, short} from "./facts.js";
import {Marked} from "./marked.js";
import {Tag} from "./parts.js";
import {count, number} from "./words.js";

const COLOURS = {fuzzy: "guess", none: "error"};
const colour = (row) => row.level || (COLOURS[row.grade] ?? "lossless");
const places = (row) => (row.places.length ? row.places : row.nearest ? [row.nearest] : []);

/** A row as a fact, for the marks. */
const asFact = (row) => ({...row, kind: "evidence", code: "", level: colour(row), name: `${cut(row.value, 60)}${row.places.length ? "" : ": the nearest place"}`});

/** A document with its marks: its text, or the available pieces with a line for each gap. `whole`: the text, if the page has it. */
function drawn({rows, sources}, at, whole) {
  const {pieces, size} = sources[at] ?? {pieces: [[0, ""]], size: 0};
  const shifts = []; // for each piece: its start, its end, and how far it was moved
  let text = "";
  let end = 0;
  for (const [start, piece] of whole === undefined ? pieces : [[0, whole]]) {
    if (start > end) text += `\n… ${count(start - end, "character")} …\n`;
    end = start + piece.length;
    shifts.push([start, end, text.length - start]);
    text += piece;
  }
  if (size > end && whole === undefined) text += `\n… ${count(size - end, "character")}`;
  const marks = rows.flatMap((row, index) => places(row).flatMap(([document, from, to]) => {
    const [, , by] = (document === at && shifts.find(([start, last]) => from >= start && to <= last)) || [];
    return by === undefined ? [] : [[from + by, to + by, index]];
  }));
  return {text, marks, facts: rows.map(asFact)};
}

/** A verdict whose text also marks the value of a row, and the index of that mark; null if a fact already marks it. */
export const withValue = (verdict, row) => (row?.span && row.fact === null
  ? [{...verdict, marks: [...verdict.marks, [...row.span, verdict.facts.length]], facts: [...verdict.facts, asFact(row)]}, verdict.facts.length]
  : [verdict, null]);

/** The text of a document at a place; empty if that part is missing. */
function said(sources, [at, from, to]) {
  const [start, text] = sources[at].pieces.find(([first, piece]) => from >= first && to <= first + piece.length) ?? [0, ""];
  return cut(text.slice(from - start, to - start), 60);
}

function Row({row, index, sources, facts, chosen, onChoose}) {
  const isChosen = index === chosen;
  const fact = facts[row.fact];
  const [place] = places(row);
  const words = place && !fact && row.grade !== "exact" && said(sources, place);
  return html`<${Item} kind="value" isChosen=${isChosen}>
    <div><button type="button" class="choose" aria-pressed=${isChosen} onClick=${() => onChoose(index)}><b><bdi>${cut(pathOf(row.path).replace(/^text\[.*/, ""), 80)}</bdi></b> <bdi class="mono">${row.value}</bdi>
      ${words && html` <span class="soft">· ${row.places.length ? "" : "nearest "}<bdi class="mono">${words}</bdi></span>`}${place && sources.length > 1 && html` <span class="soft">· <bdi>${cut(sources[place[0]].name, 40)}</bdi></span>`}</button>
      ${fact && html`<p class="hint"><code class="code">${fact.code}</code> <bdi>${short(fact)}</bdi></p>`}</div>
    <${Tag} kind=${row.grade === "not checkable" ? "" : colour(row)}>${row.grade}<//>
  <//>`;
}

/** The values with their grades: a `verdict` with evidence, `chosen` (the index of a row) and `onChoose(index)`. Arrow keys go from one to the next. */
export function Values({verdict: {facts, evidence: {rows, sources, omitted, grades}}, chosen, onChoose}) {
  const step = (event) => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const next = by && event.target.closest("li")?.[by > 0 ? "nextElementSibling" : "previousElementSibling"]?.querySelector("button");
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.click();
  };
  const choose = (index) => {
    onChoose(index);
    document.querySelector(".source")?.scrollIntoView({block: "nearest"}); // on a narrow screen the source is elsewhere on the page
  };
  return html`<div class="about-facts" role="group" aria-label="Values" onKeyDown=${step}>
    <h3>${Object.entries(grades).map(([grade, some]) => `${number(some)} ${grade}`).join(" · ")}</h3>
    <${Rows} rows=${rows} at=${chosen} draw=${(row, index) => html`<${Row} key=${row.path} ...${{row, index, sources, facts, chosen, onChoose: choose}} />`} />
    ${omitted > 0 && html`<p class="note">${count(omitted, "more value")} not listed.</p>`}
  </div>`;
}

/** The sources with the places of all values: the document of the chosen value, or the one that the user picked. If it can be edited, `value` is its text and `whole` the text that was judged. All other properties go to the editor. */
export function Sources({evidence, chosen, onChoose, value, whole, ...rest}) {
  const {rows, sources} = evidence;
  const picked = useSignal(0);
  useEffect(() => {
    const [first] = rows[chosen] ? places(rows[chosen]) : [];
    if (first) picked.value = first[0];
  }, [chosen, rows]);
  const at = Math.min(picked.value, Math.max(sources.length - 1, 0));
  const marked = useMemo(() => drawn(evidence, at, whole), [evidence, at, whole]);
  return html`${sources.length > 1 && html`<label class="documents soft">Document <select class="quiet" value=${at} onChange=${(event) => (picked.value = Number(event.target.value))}>${sources.map(({name}, index) => html`<option key=${index} value=${index}>${cut(name, 80)}</option>`)}</select></label>`}
    <${Marked} key=${at} label="Source" class="source" ...${rest} value=${value ?? marked.text} readOnly=${value === undefined} drawn=${marked} chosen=${chosen} onChoose=${onChoose} onStep=${onChoose} />`;
}
