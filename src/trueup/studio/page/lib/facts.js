// The facts of a verdict in words, one by one or in groups. Choosing a row chooses its mark, and the other way round.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {Dialog, Tag} from "./parts.js";
import {Failed, useLoaded} from "./load.js";
import {count, number} from "./words.js";

const MOST_SHOWN = 60; // rows of one section; a click shows more
const LONG = 120;

/** The grade of a fix or the level of a finding: the class that colours it and the word that names it. */
export const kindOf = (fact) => fact.level ?? fact.grade ?? "error";

export const cut = (text, most = LONG) => (text.length <= most ? text : `${text.slice(0, /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most)}…`);
const isValue = (fact) => fact.code[0] === "C" && fact.before && fact.after;
/** The message of a finding without its field name, which is shown before it. */
export const short = (fact) => {
  const named = /^Field "[^"]*": (?=.)/.exec(fact.message);
  return named ? fact.message[named[0].length].toLowerCase() + fact.message.slice(named[0].length + 1) : fact.message;
};
/** One sentence about a fact: the message of a finding, or what a fix did. */
export const summary = (fact) => (fact.kind === "finding" ? fact.message : isValue(fact) ? `${cut(fact.before, 60)} → ${cut(fact.after, 60)}` : fact.title || fact.name);

/** `$.lines[0].price` as `lines[0].price`; the whole value has no name. */
export const pathOf = (path) => (path === "$" || !path ? "" : path.startsWith("$.") ? path.slice(2) : path);

/** Groups fixes that have the same code and say the same: `[{facts: [index…], paths: […]}…]`. A coercion is not grouped: each has its own before and after. */
export function grouped(facts) {
  const groups = new Map();
  facts.forEach((fact, index) => {
    if (fact.kind !== "fix") return;
    const key = `${fact.code} ${isValue(fact) ? `${fact.before} ${fact.after}` : ""}`;
    const group = groups.get(key) ?? {facts: [], paths: []};
    group.facts.push(index);
    const path = pathOf(fact.path);
    if (path && !group.paths.includes(path)) group.paths.push(path);
    groups.set(key, group);
  });
  return [...groups.values()];
}

/** The groups in the order of the list: findings, then fixes. The list and its keys use the same order. */
export function rowsOf(facts) {
  const findings = facts.flatMap((fact, index) => (fact.kind === "finding" ? [{facts: [index], paths: [pathOf(fact.path)]}] : []));
  return {errors: findings.filter(({facts: [index]}) => facts[index].level === "error"), warnings: findings.filter(({facts: [index]}) => facts[index].level !== "error"), fixes: grouped(facts)};
}

/** One row of a list. The chosen row is scrolled into view, unless it was chosen by a click on it. */
export function Item({kind, isChosen, children}) {
  const element = useRef();
  useEffect(() => {
    if (isChosen && !element.current.contains(document.activeElement)) element.current.scrollIntoView({block: "nearest"});
  }, [isChosen]);
  return html`<li class=${`fact ${kind}`} aria-current=${isChosen ? "true" : undefined} ref=${element}>${children}</li>`;
}

/** A list of rows: the first ones, and always the chosen one. */
export function Rows({rows, at, draw}) {
  const most = useSignal(MOST_SHOWN);
  const shown = Math.max(most.value, at + 1);
  return html`<ul class="facts">${rows.slice(0, shown).map(draw)}</ul>
    ${rows.length > shown && html`<p class="more"><button type="button" onClick=${() => (most.value = shown + 200)}>Show more</button> <span class="soft">${count(rows.length - shown, "more row")}</span></p>`}`;
}

function Row({row, facts, chosen, onChoose, onExplain}) {
  const fact = facts[row.facts[0]];
  const at = row.facts.indexOf(chosen);
  const isChosen = at >= 0;
  const next = () => onChoose(row.facts[isChosen ? (at + 1) % row.facts.length : 0]);
  const paths = row.paths.filter(Boolean);
  return html`<${Item} kind=${kindOf(fact)} isChosen=${isChosen}>
    <button type="button" class="code" title=${`Explain ${fact.code}`} aria-label=${`Explain ${fact.code}`} onClick=${() => onExplain(fact.code)}>${fact.code}</button>
    <div>
      <button type="button" class="choose" aria-pressed=${isChosen} onClick=${next}>
        ${fact.kind === "finding" && paths.length > 0 && html`<b><bdi>${cut(paths[0], 80)}</bdi></b> `}<bdi>${fact.kind === "finding" && paths.length ? short(fact) : summary(fact)}</bdi>
        ${row.facts.length > 1 && html` <span class="soft">×${number(row.facts.length)}${isChosen ? ` · ${number(at + 1)} of ${number(row.facts.length)}` : ""}</span>`}
        ${fact.kind === "fix" && paths.length > 0 && html` <span class="soft">· <bdi>${cut(paths.slice(0, 4).join(", "), 100)}</bdi>${paths.length > 4 ? ` and ${paths.length - 4} more` : ""}</span>`}
      </button>
      ${fact.kind === "finding" && html`<p class="hint">${fact.hint && html`<bdi>${fact.hint}</bdi> `}${fact.rule && html`<span>Rule <code>${fact.rule}</code>. </span>`}<button type="button" class="plain link" onClick=${() => onExplain(fact.code)}>Explain</button></p>`}
    </div>
    <${Tag} kind=${kindOf(fact)} />
  <//>`;
}

function Section({title, rows, ...rest}) {
  if (!rows.length) return null;
  return html`<div class="about-facts" role="group" aria-label=${title}><h3>${title}</h3>
    <${Rows} rows=${rows} at=${rows.findIndex(({facts}) => facts.includes(rest.chosen))} draw=${(row) => html`<${Row} key=${row.facts[0]} row=${row} ...${rest} />`} />
  </div>`;
}

/** The facts of a verdict as a list: `facts`, `chosen`, `onChoose(index)`, `onExplain(code)`. */
export function Facts({facts, chosen = null, onChoose, onExplain}) {
  const {errors, warnings, fixes} = rowsOf(facts);
  const given = {facts, chosen, onChoose, onExplain};
  return html`<${Section} title="Errors" rows=${errors} ...${given} /><${Section} title="Warnings" rows=${warnings} ...${given} /><${Section} title="Fixes" rows=${fixes} ...${given} />`;
}

const STATES = {ok: ["Accepted", "ok"], refused: ["Refused", "bad"], "no reply": ["No reply", "bad"], "cut off": ["Cut off", "bad"]};

/** The headline of a verdict with its counts. */
export function Headline({verdict, children}) {
  const {errors, warnings, lossless, guess, lossy} = verdict.counts;
  const [word, kind] = STATES[verdict.state] ?? [verdict.ok ? "Accepted" : "Refused", verdict.ok ? "ok" : "bad"];
  const fixes = lossless + guess + lossy;
  const grades = [[lossless, "lossless"], [guess, "guess"], [lossy, "lossy"]].filter(([found]) => found).map(([found, grade]) => `${number(found)} ${grade}`);
  const parts = [errors && count(errors, "error"), warnings && count(warnings, "warning"), fixes && `${count(fixes, "fix", "fixes")} (${grades.join(", ")})`].filter(Boolean);
  return html`<div class="headline"><strong class=${kind}>${word}</strong><span class="soft">${parts.join(" · ") || "no findings, nothing changed"}</span>${children}</div>`;
}

/** The documentation of a code in a dialog. */
export function Explain({code, onClose}) {
  const {data, failure} = useLoaded("/explain", {code});
  const level = data?.level ?? data?.grade;
  return html`<${Dialog} title=${data ? `${data.code} ${data.name}` : code} onClose=${onClose}>
    <div class="explain" tabindex="0">
      ${failure && html`<${Failed} failure=${failure} />`}
      ${!data && !failure && html`<p class="soft" aria-busy="true">Loading…</p>`}
      ${data && html`<p>${level && html`<${Tag} kind=${level} /> `}${data.title}</p>
        ${(data.sections ?? []).map((section) => html`<section key=${section.title}>${section.title && html`<h3>${section.title}</h3>`}
          ${section.blocks.map((block, at) => (block.kind === "code" ? html`<pre key=${at} class="box">${block.text}</pre>` : block.kind === "list" ? html`<ul key=${at} class="dots">${block.items.map((item, index) => html`<li key=${index}><${Words} text=${item} /></li>`)}</ul>` : html`<p key=${at}><${Words} text=${block.text} /></p>`))}
        </section>`)}`}
    </div>
  <//>`;
}

/** A sentence in which backticks make code. */
export const Words = ({text}) => text.split(/(`[^`\n]+`)/).map((part) => (part.length > 2 && part[0] === "`" && part.at(-1) === "`" ? html`<code>${part.slice(1, -1)}</code>` : part));
