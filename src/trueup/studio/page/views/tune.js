// Tune: measures the rules of a contract with labels, and suggests changes to its file, each with its backtest.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {about, may} from "../lib/about.js";
import {get, post} from "../lib/api.js";
import {p} from "../lib/flips.js";
import {html} from "../lib/html.js";
import {useKeys} from "../lib/keys.js";
import {Failed, useLoaded, Waiting} from "../lib/load.js";
import {Code, Dialog, Panel, Tag, say} from "../lib/parts.js";
import {go, link, query, refine} from "../lib/place.js";
import {count, lasted, number, percent} from "../lib/words.js";
import {useWork} from "../lib/work.js";
import {merged, Patch} from "./contract-diff.js";
import {draft, keep} from "./contract-drafts.js";
import {contractLink} from "./contract-head.js";
import {Interval} from "./contract-precision.js";

const TIMES = [["7d", "Last 7 days"], ["30d", "Last 30 days"], ["90d", "Last 90 days"], ["", "All time"]];

export function Tune() {
  const {data, failure, busy} = useLoaded("/contracts");
  const file = query.value.get("file") ?? "";
  const since = query.value.get("since") ?? "";
  const tuning = useWork("/tune", about.value.store && file && data ? {file, since} : null);
  const files = data?.files ?? [];
  const only = !file && files.length === 1 ? files[0].file : "";
  useEffect(() => void (only && refine({file: only})), [only]);
  if (!data) return html`<${Panel} title="Tune"><${Waiting} failure=${failure} busy=${busy} /><//>`;
  const head = html`<div class="tune-head">
    <label>Contract <select value=${file} onChange=${(event) => refine({file: event.currentTarget.value})}>
      <option value="">All contracts</option>${files.map((each) => html`<option key=${each.file} value=${each.file}>${each.name} (${each.file})</option>`)}
      ${file && !files.some((each) => each.file === file) && html`<option value=${file}>${file}</option>`}</select></label>
    <label>Replies <select value=${since} onChange=${(event) => refine({since: event.currentTarget.value})}>${TIMES.map(([id, title]) => html`<option key=${id} value=${id}>${title}</option>`)}</select></label>
    ${file && about.value.store && (tuning.isBusy ? html`<button type="button" onClick=${tuning.stop}>Stop</button>` : html`<button type="button" onClick=${tuning.again}>Run again</button>`)}
    ${file && html`<a href=${contractLink(file)}>Edit the contract</a>`}
  </div>`;
  return html`${file && head}<${Body} file=${file} since=${since} files=${files} tuning=${tuning} />`;
}

function Body({file, since, files, tuning}) {
  const {phase, progress, found, failure, isBusy, again} = tuning;
  if (!about.value.store) return html`<${Panel} title="Suggestions"><div class="note"><p>No store is open, so there are no replies and no labels to learn from.</p>
    <p class="soft">Start the studio with one: <code>trueup studio contracts --store verdicts.db</code>, or with <code>--demo</code> to look around. For files of replies: <code>trueup tune CONTRACT REPLIES --labels LABELS</code>.</p></div><//>`;
  if (!files.length) return html`<${Panel} title="Suggestions"><p class="note">There is no contract file in the studio's folders. Start it with the folder that contains them: <code>trueup studio contracts --store verdicts.db</code></p><//>`;
  if (!file) return html`<${Choose} files=${files} />`;
  if (isBusy) return html`<${Panel} title="Suggestions"><div class="note" aria-busy="true" role="status">
    <progress aria-label="Progress" max=${progress?.total || undefined} value=${progress?.total ? progress.done : undefined}></progress>
    <p>${progress?.words || "Judging stored replies under the contract…"}${progress?.seconds > 1 ? ` ${lasted(progress.seconds)}` : ""}</p></div><//>`;
  if (phase === "failed") return html`<${Panel} title="Suggestions"><${Failed} failure=${failure} /><//>`;
  if (!found) return html`<${Panel} title="Suggestions"><p class="note">Stopped. “Run again” restarts it.</p><//>`;
  return html`<${Result} file=${file} since=${since} result=${found} onAgain=${again} />`;
}

/** The contracts with their numbers of verdicts and labels, those with labels first. */
function Choose({files}) {
  const rows = files.toSorted((a, b) => (b.labelled ?? 0) - (a.labelled ?? 0) || b.refused - a.refused || b.verdicts - a.verdicts);
  return html`<${Panel} title="Choose a contract to tune" class="contracts">
    <p class="banner">Each rule is measured on stored replies and compared with your labels. A suggestion is a change to the file with its own backtest; nothing is written until you apply it.</p>
    <div class="scroll"><table class="list">
      <thead><tr><th>Contract</th><th class="n">Verdicts</th><th class="n">Refused</th><th class="n">Labelled</th><th><span class="hidden">Action</span></th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.file} onClick=${(event) => event.target.closest("a") || go(link("tune", {file: row.file}))}>
        <td class="wide"><a class="row" href=${link("tune", {file: row.file})}><strong>${row.name}</strong> <span class="soft mono">${row.file}</span></a></td>
        <td class="n" data-of="verdicts">${number(row.verdicts)}${row.capped ? "+" : ""}</td><td class="n" data-of="refused">${number(row.refused)}</td><td class="n" data-of="labelled">${number(row.labelled)}</td>
        <td class="n">${row.verdicts > row.labelled && may("label") && html`<a href=${link("verdicts", {queue: 1, contract: row.name})}>Label</a>`}</td></tr>`)}</tbody>
    </table></div><//>`;
}

function Result({file, since, result, onAgain}) {
  const at = useSignal(0);
  const asked = useSignal(null); // the suggestions to apply
  const done = useSignal(null);
  const list = useRef();
  const {suggestions} = result;
  const ready = suggestions.filter((each) => each.diff && each.advice);
  const move = (step) => {
    at.value = Math.max(0, Math.min(suggestions.length - 1, at.value + step));
    list.current?.children[at.value]?.focus();
  };
  const current = suggestions[at.value];
  useKeys(
    {
      j: ["next suggestion", () => move(1)],
      k: ["previous suggestion", () => move(-1)],
      ...(may("edit") ? {a: ["apply the suggestion", () => current?.diff && !done.value && (asked.value = [current])]} : {}),
    },
    suggestions.length > 0,
  );
  return html`<div class="tuned">
    ${asked.value && html`<${Apply} file=${file} since=${since} result=${result} suggestions=${asked.value} onClose=${() => (asked.value = null)} onDone=${(written) => ((done.value = written), (asked.value = null))} />`}
    <section class="suggestions" aria-label="Suggestions">
      <p class="summary"><span role="status"><${Summary} result=${result} /></span>${may("edit") && !done.value && ready.length > 1 && html`<button type="button" onClick=${() => (asked.value = ready)}>Apply all ${number(ready.length)}…</button>`}</p>
      ${done.value && html`<${Applied} file=${file} written=${done.value} onAgain=${onAgain} />`}
      ${suggestions.length ? html`<ol ref=${list}>${suggestions.map((each, n) => html`<${Suggestion} key=${each.number} suggestion=${each} current=${n === at.value} stale=${done.value !== null} onFocus=${() => (at.value = n)} onApply=${() => (asked.value = [each])} onTry=${() => tryOut(file, result, each)} />`)}</ol>` : html`<${NoSuggestion} result=${result} />`}
    </section>
    <div class="measures"><${Needed} result=${result} /><${Measured} result=${result} /></div>
  </div>`;
}

function Summary({result}) {
  const advice = result.suggestions.filter((each) => each.advice).length;
  const lost = Object.values(result.unjudgeable ?? {}).reduce((sum, n) => sum + n, 0);
  return html`<strong>${advice ? count(advice, "suggestion") : "No suggestion"}</strong> from ${count(result.replies, "reply", "replies")}, ${number(result.labelled)} of them labelled${lost > 0 && ` · ${count(lost, "reply", "replies")} cannot be judged again`}`;
}

function NoSuggestion({result}) {
  if (!result.labelled) return html`<div class="card"><p>Nobody has labelled a reply of this contract yet, so nothing can be learned about its rules.</p>
    <p class="soft">Say whether some of its verdicts are right: in <a href=${link("verdicts", {contract: result.name, queue: 1})}>Verdicts</a>, with one key each, or in a terminal with <code>trueup label verdicts.db</code>. About 30 labels are enough to begin with.</p></div>`;
  return html`<div class="card"><p>The labels do not suggest any change to this contract.</p><p class="soft">A rule needs at least 10 labels before a change to it is suggested.</p></div>`;
}

/** A p-value in plain words. */
function chance(value, tests) {
  const times = value < 0.001 ? "fewer than 1 time in 1,000" : value < 0.5 ? `about 1 time in ${number(Math.round(1 / value))}` : "more often than not";
  return html`By chance alone, the labels would look like this ${times} <span class="soft">(${p(value)}, corrected for ${count(tests, "test")})</span>.`;
}

/** Put a suggestion into the editor, where a backtest lists its flips. */
async function tryOut(file, result, suggestion) {
  const base = await get("/contracts/file", {file}).catch((failure) => say(failure.message, "bad"));
  if (!base) return;
  if (base.hash !== result.hash) return say("The file has changed since this run. Run again.", "bad");
  const mine = draft(file);
  const both = mine ? mine.base.hash === base.hash && merged(base.text, suggestion.text, mine.text) : suggestion.text;
  if (!both) return say("You have changed the same part of this file and not saved it. Save or discard your change first.", "bad");
  keep(file, both, {text: base.text, hash: base.hash});
  go(contractLink(file));
}

function Suggestion({suggestion, current, stale, onFocus, onApply, onTry}) {
  const {number: at, title, why, note, backtest, advice, diff, no_diff: reason, examples} = suggestion;
  return html`<li class=${`card suggestion ${current ? "current" : ""}`} tabindex=${current ? 0 : -1} onFocusIn=${onFocus} aria-label=${`Suggestion ${at}`}>
    <h2><span class="soft num">${at}</span> ${title} ${!advice && html`<${Tag}>for your information<//>`}</h2>
    <p>${why} ${suggestion.labels > 0 && chance(suggestion.p_adjusted, suggestion.tests)}</p>
    ${note && html`<p class="soft">${note}</p>`}
    ${backtest && html`<${Outcome} done=${backtest} />`}
    ${diff ? html`<${Patch} diff=${diff} label=${`Change of suggestion ${at}`} />` : html`<p class="soft">No diff: ${reason}.</p>`}
    ${examples?.length > 0 && html`<ul class="deciding" aria-label="Replies that decided">${examples.map((each) => html`<li key=${each.id}><a href=${link("verdicts", each.id)} title=${each.text}>${each.text}</a><span class=${each.should ? "ok" : "bad"}>${each.should ? "people accept it" : "people refuse it"}</span></li>`)}</ul>`}
    ${diff && html`<p class="actions">${may("edit") ? html`<button type="button" class="main" disabled=${stale} onClick=${onApply}>Apply…</button>` : html`<span class="soft">Your key may not edit files.</span>`}
      ${suggestion.text && html`<button type="button" disabled=${stale} onClick=${onTry}>Show flips</button>`}${stale && html`<span class="soft">The file has changed since this run.</span>`}</p>`}
  </li>`;
}

function Outcome({done}) {
  const parts = [
    [done.newly_accepted, "newly accepted", "ok"],
    [done.newly_refused, "newly refused", "bad"],
    [done.value_changed, "with another value", ""],
  ].filter(([n]) => n);
  return html`<dl class="outcome-line">
    ${parts.map(([n, word, kind]) => html`<div key=${word}><dd class=${`num ${kind}`}>${number(n)}</dd><dt>${word}</dt></div>`)}
    ${!parts.length && html`<div><dd>0</dd><dt>flips</dt></div>`}
    ${done.better + done.worse > 0 && html`<div><dd class="num">${number(done.better)} / ${number(done.worse)}</dd><dt>labels say better / worse</dt></div>`}
    <div><dd class="num">${percent(done.refused_before)} → ${percent(done.refused_now)}</dd><dt>refused, of ${count(done.judged, "reply", "replies")}</dt></div>
  </dl>`;
}

function Apply({file, since, result, suggestions, onClose, onDone}) {
  const examples = useSignal(true);
  const busy = useSignal(false);
  const failure = useSignal(null);
  const write = async () => {
    busy.value = true;
    try {
      const written = await post("/tune/apply", {file, since, hash: result.hash, suggestions: suggestions.map((each) => each.id), examples: examples.value});
      onDone(written);
      say(`Written: ${written.files.join(", ")}.`);
    } catch (failed) {
      failure.value = failed;
      busy.value = false;
    }
  };
  const files = [...new Set(suggestions.flatMap((each) => each.files))]; // possibly a file that it extends
  return html`<${Dialog} title=${`Write ${suggestions.length > 1 ? `${suggestions.length} changes` : "this change"} into ${files.join(" and ")}?`} onClose=${onClose} closing="Cancel" actions=${html`<button type="button" class="main" disabled=${busy.value} onClick=${write}>Write to ${files.map((each) => each.split("/").at(-1)).join(" and ")}</button>`}>
    ${files.some((each) => each !== file) && html`<p>${file} extends it. The change also affects all other files that extend it.</p>`}
    ${suggestions.map((each) => html`<div key=${each.id} class="applying"><p>${each.title}</p><${Patch} diff=${each.diff} label=${`Change ${each.number}`} /></div>`)}
    <label class="check"><input type="checkbox" checked=${examples.value} onChange=${(event) => (examples.value = event.currentTarget.checked)} /> Add the deciding replies to the file's examples, so that the linter checks them</label>
    ${failure.value && html`<${Failed} failure=${failure.value} />`}
    ${failure.value?.code === "changed" && html`<p class="soft">Someone has changed the file since this run. Close this, run again, and apply the suggestion if it is still there.</p>`}
  <//>`;
}

function Applied({file, written, onAgain}) {
  return html`<div class="card applied" role="status"><p><strong class="ok">Written to ${written.files.join(" and ")}</strong>${written.examples > 0 && `, with ${count(written.examples, "example")} from your traffic: review them before you share the file`}.</p>
    ${written.note && html`<p>${written.note}</p>`}
    <ul class="next"><li>A gateway that was started with <code>--reload</code> uses it within seconds; send other gateways <code>SIGHUP</code>.</li>
      <li><a href=${contractLink(file)}>Review the file</a> and commit it.</li></ul>
    <p class="actions"><button type="button" onClick=${onAgain}>Run again to see what is left</button></p></div>`;
}

const stateOf = (row) => (row.kind === "forbid" ? row.unit.split(":")[1] : "");
const Named = ({row}) => html`<span><${Code}>${row.name}<//> <span class="soft">${stateOf(row)}</span></span>`;

function Needed({result}) {
  const rows = result.labels_needed ?? [];
  if (!rows.length) return null;
  return html`<${Panel} title="Rules that need labels" class="fit"><p class="note">These fire often but have too few labels. Ten labels per rule are enough.</p>
    <ul class="needed">${rows.map((row) => html`<li key=${row.unit}><${Named} row=${row} /><span class="soft num">fired ${number(row.fired)} · ${number(row.labels)} of ${number(row.needed)} labels</span>${may("label") && html`<a href=${queue(result, row)}>Label</a>`}</li>`)}</ul><//>`;
}

const queue = (result, row) => link("verdicts", {queue: 1, contract: result.name, state: stateOf(row), ...(row.kind === "code" || /^[A-Z]+\d/.test(row.unit) ? {code: row.unit.split(" ")[0]} : {rule: row.name})});

function Measured({result}) {
  const rows = [result.whole, ...(result.units ?? [])].filter(Boolean);
  if (!rows.length) return null;
  return html`<${Panel} title="Measured rules" class="fit" aside="share of refusals that people find right"><div class="scroll" tabindex="0" role="group" aria-label="Table of rules"><table>
    <thead><tr><th>Rule</th><th class="n">Fired</th><th class="n">Labels</th><th>Precision</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.unit}><td>${row.unit ? html`<${Named} row=${row} />` : "every refusal"}</td><td class="n">${number(row.fired)}</td><td class="n">${number(row.labels)}</td>
      <td><${Interval} value=${row.precision} low=${row.interval?.[0]} high=${row.interval?.[1]} /></td></tr>`)}</tbody></table></div><//>`;
}
