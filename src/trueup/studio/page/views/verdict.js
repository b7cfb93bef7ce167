// One stored verdict: the reply with its marks, findings, labels, the feedback for the model, its attempts, its conversation and its cost.
import {useEffect, useMemo, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {may} from "../lib/about.js";
import {get} from "../lib/api.js";
import {Sources, Values, withValue} from "../lib/evidence.js";
import {Explain, Facts, Headline, Words} from "../lib/facts.js";
import {Failed} from "../lib/load.js";
import {Marked} from "../lib/marked.js";
import {Key, Panel, Tag, copy, say} from "../lib/parts.js";
import {go, link} from "../lib/place.js";
import {exactly, lasted, money, number, when} from "../lib/words.js";
import {contractLink} from "./contract-head.js";
import {show} from "./try-state.js";
import {fetchVerdict, fetched, filters, label, mineOf, waiting} from "./verdicts-state.js";

const SOON = 90; // milliseconds that a verdict must stay under the cursor before it is requested
const MISSING = {not_kept: "not kept", too_large: "too large to keep", redacted: "redacted", expired: "expired"};

/** A verdict by its id: cached data immediately, the rest soon. */
function useVerdict(id) {
  const state = useSignal({id: null, data: null, failure: null});
  useEffect(() => {
    const known = fetched(id);
    if (known) {
      state.value = {id, data: known, failure: null};
      return undefined;
    }
    let isGone = false;
    const timer = setTimeout(() => fetchVerdict(id).then((data) => !isGone && (state.value = {id, data, failure: null}), (failure) => !isGone && (state.value = {id, data: null, failure})), state.value.id ? SOON : 0);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [id, waiting.value]);
  const known = state.value.id === id ? state.value : {data: fetched(id) ?? null, failure: null};
  return known;
}

/** A line for the `examples` of a contract file: JSON is YAML. A grounded contract needs the source again. */
function asExample({row, verdict, context: known}) {
  const {state, ...context} = verdict.evidence && !known.cut ? JSON.parse(known.text) : {};
  const gives = verdict.facts.filter(({kind}) => kind === "finding").map(({code, path}) => (path && path !== "$" ? `${code} ${path}` : code));
  return `  - ${JSON.stringify({...(row.state && {state: row.state}), ...(verdict.evidence && {context}), reply: verdict.text, ...(gives.length && {gives})})}\n`;
}

async function openInTry(id) {
  try {
    const {reply, contract, state, context, source} = await get(`/verdicts/${encodeURIComponent(id)}/again`);
    show({reply, state, context, source, contract: contract?.text ?? "", file: contract?.file ?? "", kind: contract?.kind ?? ".yaml", hash: contract?.hash ?? "", saved: contract?.text ?? null}, {edited: true});
    if (!contract) say("No file in the folders has a contract with that name, so the reply is opened without one.");
    go(link("try"));
  } catch (failure) {
    say(failure.message, "bad");
  }
}

/** Letters typed while the reply has the focus are still shortcuts: it cannot be edited. */
function passOn(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || (event.key.length > 1 && event.key !== "Escape")) return;
  event.preventDefault();
  event.stopPropagation();
  document.activeElement.blur();
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: event.key, bubbles: true, cancelable: true}));
}

/** The decision about a reply, in one word. */
export const decision = (row) => (!row.ok ? "refused" : row.outcome && row.outcome !== "accepted" ? row.outcome : "accepted");

const question = (row) => (row.ok ? "Was it right to accept it?" : "Was it right to refuse it?");

/** Right, wrong, skip. The pressed button is your answer. */
function Judge({row, onLabel, isBig = false}) {
  const mine = mineOf(row);
  const words = [["right", "r", "Right"], ["wrong", "w", "Wrong"], ["skipped", "x", "Skip"]];
  return html`<div class=${`judge ${isBig ? "big" : ""}`} role="group" aria-label=${question(row)}><span>${question(row)}</span>
    ${words.map(([outcome, name, word]) => html`<button type="button" key=${outcome} class=${outcome} aria-pressed=${mine === outcome} onClick=${() => onLabel(outcome)}>${word} <${Key}>${name}<//></button>`)}</div>`;
}

/** One answer for each rule or code in the findings. */
function Subjects({row, verdict, labels}) {
  const subjects = [...new Set(verdict.facts.flatMap(({subject}) => (subject ? [subject] : [])))];
  if (!subjects.length || !may("label")) return null;
  const before = (subject) => labels.findLast((each) => each.mine && each.subject === subject && ["right", "wrong"].includes(each.outcome))?.outcome ?? "";
  return html`<section aria-label="Labels by finding"><h3>Is each finding right?</h3><ul class="subjects">${subjects.map((subject) => {
    const [kind, name] = [subject.slice(0, 4), subject.slice(5)];
    const mine = mineOf(row, subject, before(subject));
    return html`<li key=${subject}><span class="cut" title=${name}><span class="soft">${kind}</span> <bdi class=${kind === "code" ? "code" : "mono"}>${name}</bdi></span>
      ${["right", "wrong"].map((outcome) => html`<button type="button" key=${outcome} class=${`small ${outcome}`} aria-pressed=${mine === outcome} aria-label=${`${name} is ${outcome}`} onClick=${() => label(row, outcome, {subject, before: mine})}>${outcome === "right" ? "✓ right" : "✗ wrong"}</button>`)}</li>`;
  })}</ul></section>`;
}

const Fact = ({name, children}) => (children == null || children === "" ? null : html`<div><dt>${name}</dt><dd>${children}</dd></div>`);
const near = (changes) => link("verdicts", changes);

function Facets({data}) {
  const {row, contract, tokens, engine, user} = data;
  const version = contract.fingerprint && html`<a class="mono" href=${near({fingerprint: contract.fingerprint})} title="Verdicts of this version">${contract.fingerprint.slice(0, 10)}</a> ${contract.current ? html`<${Tag} kind="ok">as in the file<//>` : contract.now ? html`<${Tag} kind="warning">the file has changed since<//>` : ""}`;
  return html`<dl class="about">
    <${Fact} name="Time">${exactly(row.at)}<//>
    <${Fact} name="Contract">${row.contract && html`<a href=${contract.file ? contractLink(contract.file) : link("contracts", {stored: row.contract})}>${row.contract}</a>`} ${version}<//>
    <${Fact} name="Model">${row.model && html`<a href=${near({model: row.model})}>${row.model}</a>`}<//>
    <${Fact} name="State">${row.state && html`<a href=${near({state: row.state})}>${row.state}</a>`}<//>
    <${Fact} name="Tenant">${row.tenant && html`<a href=${near({tenant: row.tenant})}>${row.tenant}</a>`}<//>
    <${Fact} name="User">${user}<//>
    <${Fact} name="Outcome">${row.outcome}<//>
    <${Fact} name="Latency">${row.latency ? lasted(row.latency) : ""}<//>
    <${Fact} name="Cost">${row.cost ? money(row.cost) : ""}<//>
    <${Fact} name="Tokens">${tokens.in || tokens.out ? `${number(tokens.in)} in, ${number(tokens.out)} out` : ""}<//>
    <${Fact} name="Judged by">${engine && `trueup ${engine}`}<//>
    <${Fact} name="Request">${row.request && html`<span class="mono cut" title=${row.request}>${row.request}</span>`}<//>
    <${Fact} name="Id"><span class="mono cut" title=${row.id}>${row.id}</span> <button type="button" class="plain link" onClick=${() => copy(row.id, "Copied the id.")}>Copy</button><//>
  </dl>`;
}

function Chain({title, rows, all, current, steps, children}) {
  if (rows.length < 2) return null;
  return html`<section aria-label=${title}><h3>${title}${all > rows.length && ` (${rows.length} of ${number(all)})`} ${children}</h3><ol class="chain">${rows.map((row) => html`<li key=${row.id} aria-current=${row.id === current ? "true" : undefined}>
    <a href=${link("verdicts", row.id, filters.value)}><span class="soft num">${!steps ? when(row.at) : row.attempt ? `attempt ${row.attempt}` : "sent instead"}</span> <${Tag} kind=${row.ok ? row.outcome !== "fallback" && "accepted" : "refused"}>${decision(row)}<//> <span class="cut" dir="auto">${row.excerpt ?? "text not kept"}</span>
    <span class="soft num">${steps ? [row.model, row.latency ? lasted(row.latency) : "", row.codes.join(" ")].filter(Boolean).join(" · ") : row.codes.join(" ")}</span></a></li>`)}</ol></section>`;
}

function Labels({labels}) {
  if (!labels.length) return null;
  return html`<section aria-label="Labels"><h3>Labels</h3><ul class="labels">${labels.map((each, at) => html`<li key=${at}><${Tag} kind=${each.outcome}>${each.outcome}<//> ${each.subject && html`<code>${each.subject}</code> `}<span class="soft">${each.mine ? "you" : each.author || "unknown"}, ${when(each.at)}${each.drawn ? `, ${each.drawn === "random" ? "random sample" : "from the queue"}` : ""}</span>${each.note && html` <bdi>${each.note}</bdi>`}</li>`)}</ul></section>`;
}

const Fold = ({title, aside, children, open = false}) => html`<details open=${open}><summary>${title}${aside && html` <span class="soft">${aside}</span>`}</summary>${children}</details>`;

function Context({data}) {
  const missing = Object.entries(data.missing ?? {});
  if (!data.context && !missing.length) return null;
  const words = missing.map(([name, why]) => (name === "?" ? "unknown" : `${name}: ${MISSING[why] ?? why}`)).join(", ");
  if (!data.context || data.context.text === "{}") return words ? html`<p class="remark">Context: ${words}.</p>` : null;
  return html`<${Fold} title="Context" aside=${words}><pre class="box">${data.context.text}${data.context.cut ? "\n…" : ""}</pre><//>`;
}

/** Each value of a grounded contract beside its source. */
function Evidence({data: {verdict, unsourced}, picked, onChoose: choose}) {
  const {evidence} = verdict;
  if (!evidence) return unsourced && html`<p class="remark"><${Words} text=${unsourced} /></p>`;
  const at = picked.value;
  return html`<section aria-label="Evidence"><h3>Evidence</h3><div class="evidence"><${Values} verdict=${verdict} chosen=${at} onChoose=${choose} /><div onKeyDown=${passOn}><${Sources} evidence=${evidence} chosen=${at} onChoose=${choose} /></div></div></section>`;
}

function Whole({data, chosen, picked, explain}) {
  const {verdict, row, labels} = data;
  const rows = verdict?.evidence?.rows ?? [];
  const [own, mark] = useMemo(() => withValue(verdict, rows[picked.value]), [verdict, picked.value]);
  const choose = (index) => {
    const found = rows.findIndex(({fact}) => fact === index);
    chosen.value = index;
    picked.value = found < 0 ? null : found;
  };
  const pick = (index) => {
    chosen.value = rows[index].fact;
    picked.value = index;
  };
  return html`
    ${verdict && html`<div class="reply" onKeyDown=${passOn}><${Marked} key=${row.id} label="Reply" readOnly value=${verdict.text} drawn=${own} chosen=${mark ?? chosen.value} onChoose=${choose} placeholder="The reply is empty." /></div>`}
    ${!verdict && html`<div class="note"><p>${data.gone}</p>${row.codes.length > 0 && html`<p>It was ${row.ok ? "accepted" : "refused"} with ${row.codes.map((code) => html`<button type="button" key=${code} class="plain link" onClick=${() => explain(code)}><code class="code">${code}</code></button> `)}</p>`}</div>`}
    <div class="rest">
      ${verdict && html`<${Facts} facts=${verdict.facts} chosen=${chosen.value} onChoose=${choose} onExplain=${explain} />
        ${!verdict.facts.length && html`<p class="note">The reply was read as it is, and it fits the contract.</p>`}
        <${Evidence} key=${row.id} data=${data} picked=${picked} onChoose=${pick} />
        <${Subjects} row=${row} verdict=${verdict} labels=${labels} />
        ${verdict.value !== null && html`<${Fold} title="Value" open=${!verdict.facts.length && verdict.value.length < 2000}><pre class="box">${verdict.value}${verdict.value_cut ? "\n…" : ""}</pre><//>`}
        ${verdict.calls.length > 0 && html`<${Fold} title=${`Calls ${verdict.calls.length}`} open>${verdict.calls.map((call, at) => html`<div key=${at} class="call"><b class="mono"><bdi>${call.name}</bdi></b> <${Tag} kind=${call.ok ? "accepted" : "refused"} /><pre class="box">${call.arguments}</pre></div>`)}<//>`}
        ${verdict.told && html`<${Fold} title="Feedback for the model"><pre class="box">${verdict.told}</pre><//>`}
        ${verdict.untold && html`<p class="remark">${verdict.untold}</p>`}`}
      <${Context} data=${data} />
      <${Chain} title="Attempts of this request" rows=${data.attempts} all=${data.of.attempts} current=${row.id} steps />
      <${Chain} title="Conversation" rows=${data.conversation} all=${data.of.conversation} current=${row.id}><a href=${near({conversation: row.conversation})}>all</a><//>
      <${Labels} labels=${labels} />
      <section aria-label="About"><h3>About</h3><${Facets} data=${data} /></section>
    </div>`;
}

/** The panel of one verdict. `row` is its row in the list; `onLabel(outcome)` labels and moves on; `isBig` is for the queue; `above` is shown below the head. */
export function Verdict({id, row, onLabel, onClose, isPage = false, isBig = false, title = "Verdict", above}) {
  const {data, failure} = useVerdict(id);
  const chosen = useSignal(null);
  const picked = useSignal(null);
  const explaining = useSignal(null);
  useEffect(() => {
    chosen.value = picked.value = null;
  }, [id]);
  const known = data?.row ?? row;
  const verdict = data?.verdict;
  const aside = html`${data && html`
    <button type="button" class="small" onClick=${() => openInTry(id)} disabled=${!verdict}>Open in Try</button>
    ${verdict && html`<button type="button" class="small" title="A line for the examples of a contract file" onClick=${() => copy(asExample(data), "Copied an example for the contract.")}>Copy as example</button>`}
    <button type="button" class="small" onClick=${() => copy(JSON.stringify(data, null, 2), "Copied the verdict as JSON.")}>Copy JSON</button>`}
    ${!isPage && !isBig && html`<a class="button small" href=${link("verdicts", id, filters.value)} title="Open as its own page" aria-label="Open as its own page">⤢</a>`}
    ${onClose && html`<button type="button" class="small" aria-label="Close" title="Close" onClick=${onClose}>×</button>`}`;
  const head = verdict ? html`<${Headline} verdict=${verdict} />` : known && html`<div class="headline"><strong class=${known.ok ? "ok" : "bad"}>${known.ok ? "Accepted" : "Refused"}</strong><span class="soft">${known.codes.join(" ")}</span></div>`;
  return html`<${Panel} title=${title} class=${`verdict ${isPage || isBig ? "page" : ""}`} aside=${aside} data-id=${data ? id : undefined}>
    ${above}${head}
    ${known && may("label") && html`<${Judge} row=${known} isBig=${isBig} onLabel=${onLabel} />`}
    ${failure && html`<${Failed} failure=${failure} />`}
    ${!data && !failure && html`<p class="note" aria-busy="true">Loading…</p>`}
    ${data && html`<div class="scroll" tabindex="0" role="region" aria-label="The verdict in full"><${Whole} data=${data} chosen=${chosen} picked=${picked} explain=${(code) => (explaining.value = code)} /></div>`}
    ${explaining.value && html`<${Explain} code=${explaining.value} onClose=${() => (explaining.value = null)} />`}
  <//>`;
}
