// The reply of Try: paste, drop or open a text, or pick an example. It is shown marked, as a diff, or unchanged.
import {useMemo, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {Diff} from "../lib/diff.js";
import {MOST} from "../lib/editor.js";
import {withValue} from "../lib/evidence.js";
import {Marked} from "../lib/marked.js";
import {Panel, Tabs, say} from "../lib/parts.js";
import {query, refine} from "../lib/place.js";
import {bytes, count} from "../lib/words.js";
import {choose, chosen, context, editReply, example, faults, isEdited, isOpening, judged, picked, plain, reply, samples, setSituation, settled, state, until} from "./try-state.js";

const TABS = [["marked", "Marked"], ["diff", "Diff"], ["original", "Original"]];

/** A file as text, with its line breaks and byte order mark unchanged. Reports problems; null if it is too large or not a file. */
export async function textOf(file) {
  if (file.size > MOST) {
    say(`${file.name} has ${bytes(file.size)}; the page accepts texts of up to ${bytes(MOST)}. Judge large files with \`trueup check\` or \`trueup sift\`.`, "bad");
    return null;
  }
  let data;
  try {
    data = new Uint8Array(await file.arrayBuffer());
  } catch {
    say(`${file.name} cannot be read. Is it a folder?`, "bad");
    return null;
  }
  const wide = {"255,254": "utf-16le", "254,255": "utf-16be"}[data.slice(0, 2)]; // written by some Windows shells
  const read = (fatal) => new TextDecoder(wide, {ignoreBOM: !wide, fatal}).decode(data);
  try {
    const text = read(true);
    say(`Opened ${file.name}.`);
    return text;
  } catch {
    say(`${file.name} is not all UTF-8 text. Unreadable bytes are shown as \ufffd.`, "bad");
    return read(false);
  }
}

async function openReply(file) {
  const text = await textOf(file);
  await settled();
  if (text !== null) editReply(text);
}

/** A button that opens a file from the disk. */
export function OpenFile({label, accept, onFile}) {
  const input = useRef();
  const opened = (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) onFile(file);
  };
  return html`<button type="button" class="plain link" title=${label} onClick=${() => input.current.click()}>Open…</button>
    <input ref=${input} type="file" hidden accept=${accept} aria-label=${label} onChange=${opened} />`;
}

/** Accepts files that are dropped anywhere on a panel. */
export function useDrop(onFile) {
  const isOver = useSignal(false);
  return [isOver.value ? "over" : "", {
    onDragOver: (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      isOver.value = true;
    },
    onDragLeave: (event) => {
      if (!event.currentTarget.contains(event.relatedTarget)) isOver.value = false;
    },
    onDrop: (event) => {
      isOver.value = false;
      if (event.defaultPrevented || !event.dataTransfer?.files.length) return;
      event.preventDefault();
      onFile(event.dataTransfer.files[0]);
    },
  }];
}

function Picker() {
  const pick = (event) => refine({example: event.target.value, file: ""}, {replace: false});
  const known = samples.value.some(({name}) => name === example.value);
  return html`<select class="quiet" aria-label="Example" value=${known ? example.value : ""} onChange=${pick}>
    ${!known && html`<option value="" disabled>choose an example</option>`}
    ${samples.value.map(({name, title}) => html`<option key=${name} value=${name}>${name === example.value && isEdited.value ? "Edited: " : ""}${title || name}</option>`)}
  </select>`;
}

/** The state and the context that the reply is judged in. */
function Situation() {
  const states = judged.value.contract?.states ?? [];
  const [fault] = faults.value.context;
  if (!judged.value.contract?.context && !context.value && !fault) return null;
  return html`<div class="situation">
    ${states.length > 0 && html`<label>State <select value=${state.value} onChange=${(event) => setSituation({state: event.target.value})}>
      <option value="">${judged.value.contract.start ? `${judged.value.contract.start} (start)` : "none"}</option>${[...new Set([...states, state.value].filter(Boolean))].map((name) => html`<option key=${name}>${name}</option>`)}</select></label>`}
    <label class="grow">Context <input id="try-context" class="mono" aria-invalid=${fault ? "true" : undefined} aria-describedby=${fault ? "try-context-fault" : undefined} spellcheck="false" autocomplete="off" placeholder=${'{"data": {}, "input": {}, "history": []}'} value=${context.value} onInput=${(event) => setSituation({context: event.target.value})} /></label>
    ${fault && html`<p id="try-context-fault" class="bad">${fault.message}</p>`}
  </div>`;
}

export function ReplyPanel({onView}) {
  const [over, drops] = useDrop(openReply);
  const tab = TABS.some(([id]) => id === query.value.get("reply")) ? query.value.get("reply") : "marked";
  const {verdict, about} = judged.value;
  const row = verdict?.evidence?.rows[picked.value];
  const [own, mark] = useMemo(() => withValue(verdict, row), [verdict, row]);
  // Whether the reply contains the judged text, as a provider's response does. It may be edited under Original in the meantime.
  const isOther = Boolean(verdict) && verdict.text !== about.reply && (tab === "original" || about.reply === reply.value);
  const isOriginal = tab === "original" || !isOther;
  const foot = html`<${Tabs} label="The reply" names=${TABS} value=${tab} onChange=${(id) => refine({reply: id === "marked" ? "" : id})} controls="reply-body" />
    <span class="soft num">${count(reply.value.length, "character")}</span>`;
  return html`<${Panel} title="Reply" id="try-reply" class=${over} aside=${html`<${Picker} /><${OpenFile} label="Open a file as the reply" onFile=${openReply} />`} foot=${foot} ...${drops}>
    <${Situation} />
    ${(isOther || plain.value) && html`<p class="remark">${plain.value ? "Judged as text." : `A provider's response (${judged.value.read}): the marks are in the text that the model wrote. Edit it under Original.`} <button type="button" class="plain link" onClick=${() => setSituation({plain: plain.value ? "" : "yes"})}>${plain.value ? "Read it as a response" : "Judge it as text"}</button></p>`}
    <div id="reply-body" class="body" role="tabpanel" aria-label=${TABS.find(([id]) => id === tab)[1]}>
      ${tab === "diff" && (verdict ? html`<${Diff} drawn=${verdict} chosen=${chosen.value} onChoose=${choose} />` : html`<p class="note">There is no verdict, so there is no diff.</p>`)}
      ${tab !== "diff" && isOriginal && html`<${Marked} key="own" label="Reply" value=${reply.value} waits=${isOpening.value} onChange=${editReply} onFile=${openReply} drawn=${isOther ? null : own} hide=${tab === "original"}
        chosen=${mark ?? chosen.value} onChoose=${choose} until=${isOther ? null : until.value} onView=${onView} memory="reply" placeholder="Paste a model's reply, or drop a file here." />`}
      ${tab !== "diff" && !isOriginal && html`<${Marked} key="text" label="Text of the reply" value=${verdict.text} readOnly drawn=${own} chosen=${mark ?? chosen.value} onChoose=${choose} until=${until.value} onView=${onView} />`}
    </div>
  <//>`;
}
