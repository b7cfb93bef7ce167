// One unit: its replies with their marks and findings, its prompt, its input and its value.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Tabs, Tag} from "../lib/parts.js";
import {go} from "../lib/place.js";
import {useKeys} from "../lib/keys.js";
import {Marked} from "../lib/marked.js";
import {Facts, Headline} from "../lib/facts.js";
import {count, number} from "../lib/words.js";
import {beside} from "./run-units.js";

/** A reply with its marks and its facts. */
export function Reply({reply, onExplain}) {
  const chosen = useSignal(null);
  const verdict = reply.verdict;
  const choose = (fact) => (chosen.value = fact);
  return html`${verdict ? html`<${Headline} verdict=${verdict} />` : html`<p class="remark">This reply cannot be judged again; this is the original text.</p>`}
    <div class="reply">${reply.text ? html`<${Marked} value=${reply.text} drawn=${verdict} readOnly label="Reply" chosen=${chosen.value} onChoose=${choose} />` : html`<p class="note">The reply is empty.</p>`}</div>
    ${verdict?.facts.length > 0 && html`<${Facts} facts=${verdict.facts} chosen=${chosen.value} onChoose=${choose} onExplain=${onExplain} />`}`;
}

const Text = ({title, text, open = false}) => text && html`<details open=${open}><summary>${title}</summary><pre class="box">${text}</pre></details>`;

export function Unit({run, unit, at, back, onExplain}) {
  const {data, failure, busy} = useLoaded("/runs/unit", {run, unit, at});
  const shown = useSignal(null);
  const head = useRef();
  useEffect(() => head.current.scrollIntoView({block: innerWidth > 900 ? "nearest" : "start"}), [!data]); // in a narrow window the unit is far below
  const next = beside(run, unit, at, 1);
  const before = beside(run, unit, at, -1);
  useKeys({
    Escape: ["back to the list of units", () => go(back)],
    ...(next ? {j: ["next unit", () => go(next, {replace: true})]} : {}),
    ...(before ? {k: ["previous unit", () => go(before, {replace: true})]} : {}),
  });
  const replies = data?.replies ?? [];
  const index = Math.min(shown.value ?? replies.length - 1, replies.length - 1);
  const reply = replies[index];
  return html`<div class="unit-head" ref=${head}><a class="button" href=${back}>← Units</a><b class="mono"><bdi>${unit || data?.unit}</bdi></b>
      ${data && html`<${Tag} kind=${data.state === "valid" ? "ok" : "failed"}>${data.state}<//>`}
      ${data && html`<span class="soft">${[data.step, data.chunk, data.stage, data.place, data.retry_count ? `asked again ${number(data.retry_count)}×` : ""].filter(Boolean).join(" · ")}</span>`}
      ${(next || before) && html`<span class="tools"><a class="button" aria-label="Previous unit" aria-disabled=${!before} href=${before ?? undefined}>↑</a><a class="button" aria-label="Next unit" aria-disabled=${!next} href=${next ?? undefined}>↓</a></span>`}</div>
    ${failure ? html`<${Failed} failure=${failure} />` : !data ? html`<p class="note" aria-busy=${busy}>Reading…</p>` : html`
    <div class="scroll unit" tabindex="0" role="region" aria-label="Unit">
      ${data.fault && html`<p class="strip bad"><bdi>${data.fault}</bdi></p>`}
      ${replies.length > 1 && html`<div class="attempts"><${Tabs} label="Replies" names=${replies.map((each, place) => [String(place), `Reply ${place + 1}`])} value=${String(index)} onChange=${(id) => (shown.value = Number(id))} />
        <span class="soft">${count(replies.length, "reply", "replies")}, the last one counts</span></div>`}
      ${reply && (reply.model || reply.usage?.input_tokens != null) && html`<p class="remark num">${[reply.model, reply.usage?.input_tokens != null && `${number(reply.usage.input_tokens)} tokens in, ${number(reply.usage.output_tokens)} out`, reply.at].filter(Boolean).join(" · ")}</p>`}
      ${reply ? html`<${Reply} key=${index} reply=${reply} onExplain=${onExplain} />` : data.errors.length > 0 ? html`<ul class="facts">${data.errors.map((error, place) => html`<li class="fact" key=${place}><code class="code">${error.code}</code><div><bdi>${error.message}</bdi></div><${Tag} kind="error" /></li>`)}</ul>` : html`<p class="note">No reply: this step asks no model.</p>`}
      <${Text} title="Value" text=${data.value} open=${!reply} />
      <${Text} title="Prompt" text=${data.prompt} open=${true} />
      <${Text} title="Input" text=${data.input} open=${!data.prompt} />
      <${Text} title="Other fields of the record" text=${data.beside} />
    </div>`}`;
}
