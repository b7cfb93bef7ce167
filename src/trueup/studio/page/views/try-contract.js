// The contract of Try: an editor with the linter's squiggles, completion and hover; its prompt; its examples. If it has a file, it can be saved there.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {post} from "../lib/api.js";
import {may} from "../lib/about.js";
import {Editor, offset} from "../lib/editor.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Panel, Tabs, Tag, copy} from "../lib/parts.js";
import {query, refine} from "../lib/place.js";
import {count} from "../lib/words.js";
import {cut} from "../lib/facts.js";
import {draft} from "./contract-drafts.js";
import {useSaving} from "./contract-save.js";
import {OpenFile, textOf, useDrop} from "./try-reply.js";
import {contract, editContract, editReply, faults as allFaults, isOpening, isSaved, judged, kind, kindOf, setSituation, show, showSaved, source} from "./try-state.js";

const asking = () => ({contract: contract.value, kind: kind.value, file: source.value.file});

async function openFromDisk(file) {
  const text = await textOf(file);
  if (text === null) return;
  refine({file: "", example: ""});
  show({contract: text, kind: kindOf(file.name)}, {edited: true});
}

function Files() {
  const {data} = useLoaded("/contracts");
  const files = data?.files ?? [];
  const {file} = source.value;
  if (!files.length && !file) return html`<span class="soft">not from a file</span>`;
  const pick = (event) => {
    const wanted = event.target.value;
    event.target.value = file; // until it is there
    refine({file: wanted, example: ""}, {replace: false});
  };
  const known = files.some((each) => each.file === file);
  return html`<select class="quiet" aria-label="Contract file" value=${file} onChange=${pick}>
    ${!file && html`<option value="" disabled>not from a file</option>`}
    ${file && !known && html`<option value=${file}>${file}</option>`}
    ${files.map((each) => html`<option key=${each.file} value=${each.file}>${each.file}</option>`)}
  </select>`;
}

function Problems({faults, onGo}) {
  if (judged.value.failure && !faults.length) return html`<span></span>`;
  const errors = faults.filter(({level}) => level === "error").length;
  const words = [errors && count(errors, "error"), faults.length - errors && count(faults.length - errors, "warning")].filter(Boolean).join(", ");
  return faults.length
    ? html`<button type="button" class=${`plain link ${errors ? "bad" : "warn"}`} title="Go to the first problem" onClick=${() => onGo(faults[0])}>${words}</button>`
    : html`<span class="ok">no problems</span>`;
}

/** An endpoint's answer about the contract in the editor, requested again shortly after each change. */
function useAsked(path, given) {
  const answer = useSignal({data: null, failure: null});
  const key = JSON.stringify(given);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        answer.value = {data: await post(path, given, abort.signal), failure: null};
      } catch (failure) {
        if (failure.name !== "AbortError") answer.value = {data: null, failure};
      }
    }, answer.peek().data ? 150 : 0);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [path, key]);
  return answer.value;
}

const Waits = ({failure}) => (failure ? html`<${Failed} failure=${failure} />` : html`<p class="note" aria-busy="true">Loading…</p>`);

const FORMS = [["form", "as a form"], ["json-schema", "as JSON Schema"], ["typescript", "as TypeScript"]];

function Prompt() {
  const form = useSignal("form");
  const {data, failure} = useAsked("/instructions", {...asking(), form: form.value});
  if (!data) return html`<${Waits} failure=${failure} />`;
  if (data.text === null) return html`<p class="note">The contract has errors, so there is no prompt.</p>`;
  if (!data.text) return html`<p class="note">There is no prompt: this contract has no schema and no tools.</p>`;
  return html`<div class="scroll pad" tabindex="0" role="region" aria-label="The contract as a prompt">
    <p class="soft intro">Prompt for the model <select class="quiet" aria-label="Form of the prompt" value=${form.value} onChange=${(event) => (form.value = event.target.value)}>${FORMS.map(([id, title]) => html`<option key=${id} value=${id}>${title}</option>`)}</select><button type="button" class="plain link" onClick=${() => copy(data.text)}>Copy</button></p>
    <pre class="box">${data.text}</pre></div>`;
}

function Examples() {
  const {data, failure} = useAsked("/examples", asking());
  if (!data) return html`<${Waits} failure=${failure} />`;
  if (!data.examples.length) return html`<div class="note"><p>This contract has no examples.</p><p>Add <code>examples:</code> with a <code>reply</code> and the expected result. They are judged here and by <code>trueup lint --run</code>.</p></div>`;
  const right = data.examples.filter(({passes}) => passes).length;
  const open = (each) => {
    editReply(each.reply);
    setSituation({state: each.state, context: each.context, source: each.source});
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Examples of the contract">
    <p class="soft intro">${right === data.examples.length ? `${count(right, "example")}, all as expected. ` : `${right} of ${count(data.examples.length, "example")} as expected. `}Click one to judge it.</p>
    <ul class="try-examples">${data.examples.map((each, at) => html`<li key=${at}><button type="button" onClick=${() => open(each)}>
      <${Tag} kind=${each.passes ? "ok" : "failed"}>${each.passes ? "as expected" : "differs"}<//><span class="name"><bdi>${each.name}</bdi>${each.state && html` <span class="soft">${each.state}</span>`}</span>
      <bdi class="mono soft">${cut(each.reply, 160)}</bdi>${each.faults.map((fault, index) => html`<span key=${index} class="bad"><bdi>${fault.message}</bdi></span>`)}</button></li>`)}</ul></div>`;
}

const latest = (file) => (source.value.file === file ? {text: contract.value, base: {text: source.value.text, hash: source.value.hash}} : draft(file));
const linted = () => ({text: judged.value.about?.contract, faults: allFaults.value.contract});

export function ContractPanel() {
  const [over, drops] = useDrop(openFromDisk);
  const view = useRef(null);
  const about = judged.value.contract;
  const faults = allFaults.value.contract;
  const {file, text: saved} = source.value;
  const {save, question} = useSaving({file, latest, linted, show: showSaved});
  const tab = ["prompt", "examples"].includes(query.value.get("contract")) ? query.value.get("contract") : "text";
  const names = [["text", {".json": "JSON", ".toml": "TOML"}[kind.value] ?? "YAML"], ["prompt", "As prompt"], ["examples", about?.examples ? `Examples ${about.examples}` : "Examples"]];
  const canSave = Boolean(file) && saved !== null && may("edit");
  const goTo = (fault) => {
    refine({contract: "", ...(fault.file && {file: fault.file, example: ""})}, {replace: !fault.file}); // the error may be in a file that this one extends
    setTimeout(() => {
      if (!view.current || !fault.line || fault.file) return;
      view.current.dispatch({selection: {anchor: offset(view.current.state.doc, fault.line, fault.column || 1)}, scrollIntoView: true});
      view.current.focus();
    });
  };
  ContractPanel.goTo = goTo;
  ContractPanel.save = canSave ? save : null;
  const aside = html`<${Files} />${saved !== null && html`<span class=${isSaved.value ? "soft" : "warn"}>${isSaved.value ? "saved" : "unsaved"}</span>`}
    ${canSave && !isSaved.value && html`<button type="button" class="small" onClick=${save}>Save</button>`}
    <${OpenFile} label="Open a file as the contract" accept=".yaml,.yml,.json,.toml" onFile=${openFromDisk} />`;
  const foot = html`<${Tabs} label="The contract" names=${names} value=${tab} onChange=${(id) => refine({contract: id === "text" ? "" : id})} controls="contract-body" /><${Problems} faults=${faults} onGo=${goTo} />`;
  return html`<${Panel} title="Contract" id="try-contract" class=${over} aside=${aside} foot=${foot} ...${drops}>
    <div id="contract-body" class="body" role="tabpanel" aria-label=${names.find(([id]) => id === tab)[1]}>
      ${tab === "text" && html`<${Editor} label="Contract" value=${contract.value} waits=${isOpening.value} onChange=${editContract} language=${{".json": "json", ".toml": ""}[kind.value] ?? "yaml"} faults=${faults}
        assist=${{kind: kind.value, file: source.value.file}} memory="contract" onFile=${openFromDisk} onView=${(made) => (view.current = made)} limit=${2_000_000} placeholder="Without a contract, any JSON value is accepted. Press Ctrl+Space to see what you can write." />`}
      ${tab === "prompt" && html`<${Prompt} />`}
      ${tab === "examples" && html`<${Examples} />`}
    </div>${question}
  <//>`;
}
