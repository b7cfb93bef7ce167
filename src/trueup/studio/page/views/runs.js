// Runs: the sifts and pipelines in the folders. The list is here, one run in run.js, a comparison in run-compare.js.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {Waiting, useLoaded} from "../lib/load.js";
import {Key, Panel, Tabs} from "../lib/parts.js";
import {go, link, query, refine, steps} from "../lib/place.js";
import {useKeys} from "../lib/keys.js";
import {count, exactly, number, percent, when} from "../lib/words.js";
import {Bar, IDLE, State, costOf, fannedOut, isBusy, paceOf, runLink, wholeOf} from "./run-words.js";
import {Run} from "./run.js";
import {Compare} from "./run-compare.js";

const POLL = 1500;

export function Runs() {
  const name = steps.value.slice(1).join("/");
  const compares = name === "compare" && (query.value.has("a") || query.value.has("b"));
  return html`<div class="runs-view">${compares ? html`<${Compare} />` : name ? html`<${Run} key=${name} name=${name} />` : html`<${List} />`}</div>`;
}

const Empty = () => html`<div class="start">
  <p><b>No runs in the studio's folders.</b></p>
  <p>Judge a file of replies, or run a pipeline, in one of the studio's folders. It appears here as soon as it starts.</p>
  <pre class="box">trueup sift replies.jsonl --contract contract.yaml --out sifted
trueup run pipelines/reviews</pre>
</div>`;

function Row({row, chosen, picked, onPick}) {
  const element = useRef();
  useEffect(() => {
    if (chosen) element.current.scrollIntoView({block: "nearest"});
  }, [chosen]);
  const settled = row.valid + row.failed;
  return html`<tr ref=${element} aria-current=${chosen ? "true" : undefined} data-run=${row.run}>
    <td class="pick"><input type="checkbox" checked=${picked} onChange=${onPick} aria-label=${`Compare ${row.run}`} /></td>
    <td class="name"><a href=${runLink(row.run)}><bdi>${row.run}</bdi></a>
      <span class="soft">${row.kind === "sift" ? "sift" : "pipeline"}${row.pipeline && html` · <bdi>${row.pipeline}</bdi>`}</span></td>
    <td class="state"><${State} row=${row} /></td>
    ${row.fault
      ? html`<td colspan="6" class="bad fault"><bdi>${row.fault}</bdi></td>`
      : html`<td class="gauge"><${Bar} valid=${row.valid} failed=${row.failed} whole=${wholeOf(row)} /><span class="soft num">${paceOf(row)}</span></td>
        <td class="n" title=${fannedOut(row) ? `${count(row.units, "unit")} went in; a fan-out made ${number(fannedOut(row))} of them` : undefined}>${number(row.units)}${fannedOut(row) > 0 && html`<span class="soft"> → ${number(fannedOut(row))}</span>`}<span class="soft unit"> units</span></td>
        <td class="n">${number(row.valid)}<span class="soft unit"> valid</span></td>
        <td class=${`n${row.failed ? " bad" : ""}`}>${number(row.failed)}<span class="unit"> failed</span>${settled > 0 && row.failed > 0 && html` <span class="soft">${percent(row.failed / settled)}</span>`}</td>
        <td class="n cost">${costOf(row)}</td>
        <td class="time num">${row.updated != null && html`<time title=${exactly(row.updated)}>${when(row.updated)}</time>`}</td>`}
  </tr>`;
}

function List() {
  const polling = useSignal(IDLE);
  const {data, failure, busy} = useLoaded("/runs", {}, {every: polling.value});
  const chosen = useSignal(""); // by name: the list may change while it is shown
  const picked = useSignal([]);
  const field = useRef();
  const kind = query.value.get("kind") ?? "";
  const text = query.value.get("text") ?? "";
  const isLive = Boolean(data?.runs.some(isBusy));
  useEffect(() => {
    polling.value = isLive ? POLL : IDLE;
  }, [isLive]);
  const words = text.toLowerCase();
  const rows = (data?.runs ?? []).filter((row) => (!kind || row.kind === kind) && (!words || `${row.run} ${row.pipeline} ${row.state}`.toLowerCase().includes(words)));
  const at = rows.findIndex(({run}) => run === chosen.value);
  const move = (by) => (chosen.value = rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.run ?? "");
  const pick = (run) => (picked.value = picked.value.includes(run) ? picked.value.filter((each) => each !== run) : [...picked.value, run].slice(-2));
  const compare = () => picked.value.length === 2 && go(link("runs", "compare", {a: picked.value[0], b: picked.value[1]}));
  useKeys({
    j: ["next run", () => move(1)],
    k: ["previous run", () => move(-1)],
    Enter: ["open the run", () => at >= 0 && go(runLink(chosen.value))],
    x: ["choose the run for a comparison", () => at >= 0 && pick(chosen.value)],
    c: ["compare the two chosen runs", compare],
    "/": ["filter", () => field.current?.focus()],
  });
  if (!data) return html`<${Waiting} failure=${failure} busy=${busy} />`;
  const head = html`<span class="tools">
    <${Tabs} label="Kind" names=${[["", "All"], ["run", "Pipelines"], ["sift", "Sifts"]]} value=${kind} onChange=${(value) => refine({kind: value})} />
    <input type="search" ref=${field} value=${text} placeholder="Filter" aria-label="Filter runs" onInput=${(event) => refine({text: event.target.value})} />
  </span>`;
  const foot = html`<span>${count(rows.length, "run")}${data.complete ? "" : "; some folders were not searched"}</span>
    <span class="tools"><span class="keys" aria-hidden="true"><${Key}>j<//><${Key}>k<//> move <${Key}>x<//> choose</span>
    <button type="button" disabled=${picked.value.length !== 2} onClick=${compare}>Compare${picked.value.length ? ` ${picked.value.length} of 2` : ""}</button></span>`;
  return html`<${Panel} title="Runs" class="fills" aside=${data.runs.length ? head : undefined} foot=${data.runs.length ? foot : undefined}>
    ${failure && html`<p class="strip bad" role="alert">${failure.message}</p>`}
    ${!data.runs.length ? html`<${Empty} />` : !rows.length ? html`<p class="note">No run matches. <button type="button" class="plain link" onClick=${() => refine({kind: "", text: ""})}>Show all</button></p>` : html`
      <div class="scroll" tabindex="0" role="region" aria-label="List of runs"><table class="runs">
        <thead><tr><th class="pick"><span class="hidden">Compare</span></th><th>Run</th><th>State</th><th>Progress</th><th class="n">Units</th><th class="n">Valid</th><th class="n">Failed</th><th class="n">Cost</th><th>Last activity</th></tr></thead>
        <tbody>${rows.map((row, index) => html`<${Row} key=${row.run} row=${row} chosen=${index === at} picked=${picked.value.includes(row.run)} onPick=${() => pick(row.run)} />`)}</tbody>
      </table></div>`}
  <//>`;
}
