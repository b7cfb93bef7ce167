// Failures by cause: step, code, path and message patterns, with examples. The failures of a cause can be listed and retried.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Panel} from "../lib/parts.js";
import {pathOf} from "../lib/facts.js";
import {count, number, percent} from "../lib/words.js";
import {isBusy, runLink} from "./run-words.js";

const SHOWN = 12;

function Cause({cause, row, whole, open, onToggle, onRetry, onExplain, mayRetry}) {
  const id = `cause-${cause.step}-${cause.code}-${cause.path}`.replace(/[^\w-]/g, "_");
  const path = pathOf(cause.path);
  return html`<li class="cause">
    <button type="button" class="head" aria-expanded=${open} aria-controls=${id} onClick=${onToggle}>
      <span class="turn" aria-hidden="true">${open ? "▾" : "▸"}</span>
      <span class="amount num"><b>${number(cause.units)}</b><span class="soft">${percent(whole ? cause.units / whole : 0)}</span></span>
      <span class="why"><code class="code">${cause.code}</code> ${path && html`<b class="mono"><bdi>${path}</bdi></b>`} <span>${cause.title || cause.name}</span>
        ${cause.step && html`<span class="soft at">${cause.step}</span>`}</span>
    </button>
    ${open && html`<div class="inside" id=${id}>
      <ul class="patterns">${cause.patterns.map((each) => html`<li key=${each.message}><span class="num soft">${number(each.units)}</span><span><bdi>${each.message || "no message"}</bdi>${!each.alike && html` <span class="soft">and others like it</span>`}</span></li>`)}
        ${cause.more_patterns > 0 && html`<li class="soft">and ${count(cause.more_patterns, "more message")}</li>`}</ul>
      <ul class="examples">${cause.examples.map((each) => html`<li key=${each.at}><a href=${runLink(row.run, {kind: "failed", step: cause.step, code: cause.code, path: cause.path, unit: each.unit, at: each.at})}><bdi>${each.unit}</bdi></a> <bdi class="mono soft">${each.excerpt || each.message}</bdi></li>`)}</ul>
      <p class="buttons-row"><a class="button" href=${runLink(row.run, {kind: "failed", step: cause.step, code: cause.code, path: cause.path})}>List ${count(cause.units, "unit")}</a>
        ${row.kind === "run" && mayRetry && cause.retryable > 0 && html`<button type="button" disabled=${isBusy(row)} onClick=${() => onRetry(cause)}>Retry these</button>`}
        <button type="button" class="plain link" onClick=${() => onExplain(cause.code)}>Explain ${cause.code}</button></p>
    </div>`}
  </li>`;
}

export function Causes({row, mayRetry, onRetry, onExplain}) {
  const {data, failure, busy, reload} = useLoaded("/runs/causes", {run: row.run});
  const opened = useSignal(null);
  const all = useSignal(false);
  useEffect(() => {
    if (data) reload();
  }, [row.failed, row.state]);
  useEffect(() => {
    if (!data || data.complete || failure) return undefined;
    const timer = setTimeout(reload, 300);
    return () => clearTimeout(timer);
  }, [data]);
  const causes = data?.causes ?? [];
  const shown = all.value ? causes : causes.slice(0, SHOWN);
  const pending = data ? row.failed - data.read : 0;
  const foot = data && (!data.complete ? `grouped ${number(data.read)} of ${count(row.failed, "failure")} so far` : pending > 0 && row.kind === "run" ? `${count(pending, "failure")} in unfinished chunks ${pending === 1 ? "is" : "are"} not grouped yet` : "");
  return html`<${Panel} title="Failures by cause" class="causes" aside=${causes.length ? count(causes.length, "cause") : undefined} foot=${foot ? html`<span>${foot}</span>` : undefined}>
    ${failure ? html`<${Failed} failure=${failure} />` : !data ? html`<p class="note" aria-busy=${busy}>Reading the failures…</p>` : !causes.length ? html`<p class="note">${row.failed ? "Failures are grouped once their chunk has finished the step." : "No unit has failed."}</p>` : html`
      <ul class="scroll" tabindex="0" aria-label="Causes">${shown.map((cause) => {
        const key = `${cause.step} ${cause.code} ${cause.path}`;
        return html`<${Cause} key=${key} ...${{cause, row, onRetry, onExplain, mayRetry}} whole=${Math.max(row.failed, data.read)} open=${opened.value === key} onToggle=${() => (opened.value = opened.value === key ? null : key)} />`;
      })}
      ${causes.length > shown.length && html`<li class="more"><button type="button" onClick=${() => (all.value = true)}>Show ${count(causes.length - shown.length, "more cause")}</button></li>`}</ul>`}
  <//>`;
}
