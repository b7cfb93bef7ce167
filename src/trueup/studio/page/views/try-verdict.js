// The verdict of Try: the headline, the facts, the value, the calls, and the feedback for the model. During a replay: the partial value.
import {useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {Editor} from "../lib/editor.js";
import {Values} from "../lib/evidence.js";
import {Explain, Facts, Headline, pathOf, summary} from "../lib/facts.js";
import {Failed} from "../lib/load.js";
import {Panel, Tabs, Tag, copy} from "../lib/parts.js";
import {query, refine} from "../lib/place.js";
import {count, lasted, number} from "../lib/words.js";
import {ContractPanel} from "./try-contract.js";
import {choose, chosen, isFresh, isSlow, judged, pick, picked} from "./try-state.js";
import {isReplaying, replayed} from "./try-stream.js";

const MOST_TOLD = 20_000; // characters shown; copying copies all

function Found({verdict, onExplain}) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Findings and fixes">
    <${Facts} facts=${verdict.facts} chosen=${chosen.value} onChoose=${choose} onExplain=${onExplain} />
    ${verdict.omitted > 0 && html`<p class="note">${count(verdict.omitted, "more fact")} not listed.</p>`}
    ${verdict.untold && html`<p class="note">${verdict.untold}</p>`}
    ${verdict.told && html`<section aria-label="Feedback for the model" class="told about-facts"><h3>Feedback for the model <button type="button" class="plain link" onClick=${() => copy(verdict.told)}>Copy</button></h3><pre class="box">${verdict.told.length > MOST_TOLD ? `${verdict.told.slice(0, MOST_TOLD)}…` : verdict.told}</pre></section>`}
    ${!verdict.facts.length && !verdict.told && html`<p class="note">The reply was read as it is, and it fits the contract.</p>`}
  </div>`;
}

function Value({verdict}) {
  if (verdict.value === null) return html`<p class="note">${verdict.calls.length ? "The reply has no value besides its calls." : verdict.ok ? "This contract does not read a value: it judges the text." : "No value could be read."}</p>`;
  return html`${verdict.value_cut && html`<p class="remark">Only the beginning of the value is shown. <code>trueup check --value</code> prints all of it.</p>`}
    <${Editor} label="Value" readOnly language="json" value=${verdict.value} />`;
}

function Calls({verdict}) {
  if (!verdict.calls.length) return html`<p class="note">The reply calls no tools.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Calls"><ul class="calls">${verdict.calls.map((call, at) => html`<li key=${at}>
    <p><b class="mono"><bdi>${call.name}</bdi></b> <${Tag} kind=${call.ok ? "accepted" : "refused"} /> <span class="soft">${call.origin}</span></p>
    <pre class="box">${call.arguments}</pre>
    ${call.facts.length > 0 && html`<ul>${call.facts.map((index) => html`<li key=${index}><button type="button" class="plain link" onClick=${() => { choose(index); refine({show: ""}); }}><code class="code">${verdict.facts[index].code}</code> <bdi>${summary(verdict.facts[index])}</bdi></button></li>`)}</ul>`}
  </li>`)}</ul></div>`;
}

function AsJson({verdict}) {
  const {text, evidence, ...rest} = verdict;
  if (evidence) rest.evidence = {...evidence, sources: evidence.sources.map(({pieces, ...source}) => source)};
  const spelled = JSON.stringify(rest, null, 2).replace(/\[\n\s+(\d+),\n\s+(\d+)(?:,\n\s+(\d+))?\n\s+\]/g, (_, ...found) => `[${found.slice(0, 3).filter((each) => each !== undefined).join(", ")}]`);
  return html`<p class="remark">The <code>verdict</code> of <code>POST /api/judge</code>, without the texts of the reply and the sources. <button type="button" class="plain link" onClick=${() => copy(spelled)}>Copy</button></p>
    <${Editor} label="The verdict as JSON" readOnly language="json" value=${spelled} />`;
}

const told = (faults) => {
  const errors = (of) => faults.filter((fault) => fault.level === "error" && (fault.of === "context") === (of === "context")).length;
  return [["contract", errors("contract")], ["context", errors("context")]].filter(([, number]) => number).map(([of, number]) => `the ${of} has ${count(number, "error")}`).join(", ");
};

function Faults({faults}) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Problems of the contract"><ul class="facts">${faults.map((fault, at) => html`<li class="fact" key=${at}><code class="code">${fault.code}</code>
      <div><button type="button" class="choose" onClick=${() => (fault.of === "context" ? document.getElementById("try-context")?.focus() : ContractPanel.goTo(fault))}><bdi>${fault.message}</bdi> <span class="soft">${fault.file ? `${fault.file}, ` : ""}${fault.line ? `line ${fault.line}` : ""}</span></button>${fault.hint && html`<p class="hint"><bdi>${fault.hint}</bdi></p>`}</div><${Tag} kind=${fault.level} /></li>`)}</ul></div>`;
}

/** The result after some of the characters. */
function Partial() {
  const {data, failure, upto, total} = replayed.value;
  if (failure) return html`<${Failed} failure=${failure} />`;
  if (!data || upto >= total) return html`<p class="note" aria-busy="true">Reading…</p>`;
  return html`<div class="headline"><strong class="soft">Arriving</strong><span class="soft">${number(upto)} of ${count(total, "character")}${data.ended ? " · the value is complete" : data.value === null ? " · nothing to read yet" : ""}</span></div>
    ${data.findings?.length > 0 && html`<div class="early about-facts"><h3>Already wrong</h3><ul class="facts">${data.findings.map((fact, at) => html`<li class="fact" key=${at}><code class="code">${fact.code}</code><div><bdi>${fact.message}</bdi></div><${Tag} kind=${fact.level ?? "error"} /></li>`)}</ul></div>`}
    ${data.open?.length > 0 && html`<p class="remark">Not complete yet: <bdi class="mono">${data.open.slice(0, 6).map((path) => pathOf(path) || "the value").join(", ")}${data.open.length > 6 ? ` and ${data.open.length - 6} more` : ""}</bdi></p>`}
    <${Editor} label="Partial value" readOnly language="json" value=${data.value ?? ""} placeholder="No value yet." />`;
}

export function VerdictPanel({explain}) {
  const {verdict, faults, took, failure} = judged.value;
  const isFaulty = faults.some(({level}) => level === "error");
  const explaining = useSignal(null);
  explain.current = (code) => (explaining.value = code);
  const asked = query.value.get("show");
  const tab = ["value", "calls", "json"].includes(asked) || asked === "evidence" && verdict?.evidence ? asked : "findings";
  const isStale = !isFresh.value && isSlow.value;
  const replaying = isReplaying.value;
  const names = [["findings", "Findings"], ...(verdict?.evidence ? [["evidence", "Evidence"]] : []), ["value", "Value"], ["calls", verdict?.calls.length ? `Calls ${verdict.calls.length}` : "Calls"], ["json", "JSON"]];
  const aside = replaying ? null : isStale ? html`<span role="status">judging…</span>` : verdict && took !== null ? html`<span class="num" title="The time of the check itself; compiling the contract is not counted">judged in ${lasted(took)}</span>` : null;
  const foot = verdict && !replaying && html`<${Tabs} label="The verdict" names=${names} value=${tab} onChange=${(id) => refine({show: id === "findings" ? "" : id})} controls="verdict-body" />
    ${(tab === "findings" && verdict.facts.length > 0) || tab === "evidence" ? html`<span class="keys" aria-hidden="true"><kbd>j</kbd> <kbd>k</kbd> select <kbd>e</kbd> explain</span>` : html`<span></span>`}`;
  return html`<${Panel} title="Verdict" id="try-verdict" aside=${aside} foot=${foot || undefined} class=${isStale ? "stale" : ""} aria-busy=${isStale ? "true" : undefined}>
    ${replaying ? html`<${Partial} />` : html`
      <div aria-live="polite">${verdict ? html`<${Headline} verdict=${verdict} />` : !failure && isFaulty && html`<div class="headline"><strong>Not judged</strong><span class="soft">${told(faults)}</span></div>`}</div>
      ${failure && html`<${Failed} failure=${failure} />`}
      ${!failure && !verdict && isFaulty && html`<${Faults} faults=${faults} />`}
      ${!failure && !verdict && !isFaulty && html`<p class="note" aria-busy="true">Judging…</p>`}
      ${verdict && html`<div id="verdict-body" class="body" role="tabpanel" aria-label=${names.find(([id]) => id === tab)[1]}>
          ${tab === "findings" && html`<${Found} verdict=${verdict} onExplain=${explain.current} />`}
          ${tab === "evidence" && html`<div class="scroll" tabindex="0" role="region" aria-label="Evidence"><${Values} verdict=${verdict} chosen=${picked.value} onChoose=${pick} /></div>`}
          ${tab === "value" && html`<${Value} verdict=${verdict} />`}
          ${tab === "calls" && html`<${Calls} verdict=${verdict} />`}
          ${tab === "json" && html`<${AsJson} verdict=${verdict} />`}
        </div>`}`}
    ${explaining.value && html`<${Explain} code=${explaining.value} onClose=${() => (explaining.value = null)} />`}
  <//>`;
}
