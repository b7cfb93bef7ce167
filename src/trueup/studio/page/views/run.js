// One run: its head with the actions, its funnel, its failures by cause, and its units, codes and logs.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {post} from "../lib/api.js";
import {may} from "../lib/about.js";
import {Explain} from "../lib/facts.js";
import {useKeys} from "../lib/keys.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Dialog, Tabs, Tag, say} from "../lib/parts.js";
import {go, link, query, refine} from "../lib/place.js";
import {bytes, count, exactly, lasted, money, number, percent, when} from "../lib/words.js";
import {Causes} from "./run-causes.js";
import {Funnel} from "./run-funnel.js";
import {Unit} from "./run-unit.js";
import {Units, wanted} from "./run-units.js";
import {IDLE, Progress, State, costOf, fannedOut, isBusy, paceOf, runLink} from "./run-words.js";

const POLL = 1000;

const Figure = ({title, value, kind = "", note}) => html`<div class="figure-of"><span class="soft">${title}</span><b class=${`num ${kind}`}>${value}</b><span class="soft num note-of">${note || html`<br />`}</span></div>`;

const isStopped = (row) => !row.running && (["paused", "interrupted", "ready"].includes(row.state) || (row.state === "failed" && row.waiting > 0));

function Head({row, act, busy, children}) {
  const settled = row.valid + row.failed;
  const edits = may("edit") && row.kind === "run" && row.state !== "damaged";
  const stopped = isStopped(row);
  const times = [row.started && html`started <time title=${exactly(row.started)}>${when(row.started)}</time>`, row.updated && html`last activity <time title=${exactly(row.updated)}>${when(row.updated)}</time>`].filter(Boolean);
  return html`<section class="panel run-head" aria-label="Run">
    <div class="title"><a class="button" href=${link("runs")} aria-label="All runs">←</a>
      <h2><bdi>${row.run}</bdi></h2><${State} row=${row} />
      <span class="soft about"><bdi>${[row.kind === "sift" ? "sift" : "pipeline", row.pipeline, ...(row.inputs ?? []).slice(0, 2).map(({name}) => name), row.mode].filter(Boolean).join(" · ")}</bdi></span>
      <span class="tools">${edits && row.running && html`<button type="button" disabled=${busy} onClick=${() => act("pause")}>Pause</button><button type="button" disabled=${busy} onClick=${() => act("kill")}>Kill…</button>`}
        ${edits && stopped && html`<button type="button" class="main" disabled=${busy} onClick=${() => act("resume")}>${row.state === "ready" ? "Start" : "Resume"}</button>`}
        ${edits && !row.running && row.failed > 0 && html`<button type="button" class=${stopped ? "" : "main"} disabled=${busy} onClick=${() => act("retry")}>Retry ${number(row.failed)} failed</button>`}
        <a class="button" href=${link("runs", "compare", {a: row.run, b: ""})}>Compare…</a></span></div>
    ${row.fault ? html`<p class="bad fault" role="alert"><bdi>${row.fault}</bdi></p>` : html`
    <div class="work"><${Progress} row=${row} /><span class="num">${paceOf(row)}</span></div>
    ${row.reason && html`<p class="warn"><bdi>${row.reason}</bdi></p>`}
    <div class="figures">
      <${Figure} title="Units" value=${number(row.units)} note=${fannedOut(row) ? `${number(fannedOut(row))} after the fan-out` : ""} />
      <${Figure} title="Valid" value=${number(row.valid)} kind="ok" note=${settled ? percent(row.valid / settled) : ""} />
      <${Figure} title="Failed" value=${number(row.failed)} kind=${row.failed ? "bad" : ""} note=${settled ? percent(row.failed / settled) : ""} />
      ${row.kind === "run" && html`<${Figure} title="Waiting" value=${number(row.waiting)} note=${row.under_way ? `${count(row.under_way, "call")} under way` : row.batches} />
      <${Figure} title="Cost" value=${costOf(row)} note=${[row.running && row.estimated > row.cost ? `of about ${money(row.estimated)}` : "", row.cap != null ? `cap ${money(row.cap)}` : "", row.lost ? `${count(row.lost, "call")} lost` : ""].filter(Boolean).join(", ")} />`}
      ${row.kind === "sift" && html`<${Figure} title="Fixed" value=${number(row.fixed)} note=${row.units ? percent(row.fixed / row.units) : ""} />
      <${Figure} title="Speed" value=${row.rate == null ? "–" : number(Math.round(row.rate))} note="units a second" />`}
      <${Figure} title="Time" value=${row.kind === "sift" && row.seconds ? lasted(row.seconds) : row.started && row.updated ? lasted(Math.max(0, row.updated - row.started)) : "–"} note=${times.map((each, at) => html`${at ? ", " : ""}${each}`)} />
    </div>`}
    ${children}
  </section>`;
}

function Codes({row, onExplain}) {
  const facts = row.facts ?? [];
  if (!facts.length) return html`<p class="note">No findings, nothing changed.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Codes"><table>
    <thead><tr><th>Code</th><th>What</th><th>Kind</th>${row.kind === "run" && html`<th>Step</th>`}<th class="n">Units</th></tr></thead>
    <tbody>${facts.map((fact) => html`<tr key=${`${fact.step} ${fact.kind} ${fact.code}`}>
      <td><button type="button" class="plain link code short" onClick=${() => onExplain(fact.code)} aria-label=${`Explain ${fact.code}`}>${fact.code}</button></td>
      <td>${fact.title || fact.name}</td>
      <td><${Tag} kind=${fact.kind === "failure" ? "error" : fact.kind === "warning" ? "warning" : fact.grade ?? ""}>${fact.kind === "fix" ? `${fact.grade} fix` : fact.kind}<//></td>
      ${row.kind === "run" && html`<td>${fact.step}</td>`}
      <td class="n"><a href=${runLink(row.run, {kind: fact.kind === "failure" ? "failed" : row.kind === "run" ? "valid" : "", step: fact.step, code: fact.code})}>${number(fact.units)}</a></td>
    </tr>`)}</tbody></table></div>`;
}

function Cost({row}) {
  const asking = row.steps.filter((step) => step.calls > 0);
  if (!asking.length) return html`<p class="note">No model was asked${row.cached ? `; ${count(row.cached, "reply", "replies")} came from the cache` : ""}.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Cost"><table>
    <thead><tr><th>Step</th><th>Model</th><th class="n">Calls</th><th class="n">Tokens in</th><th class="n">Tokens out</th><th class="n">Cost</th><th class="n">Per unit</th></tr></thead>
    <tbody>${asking.map((step) => html`<tr key=${step.step}><td>${step.step}</td><td class="soft"><bdi>${step.model || "–"}</bdi></td><td class="n">${number(step.calls)}</td><td class="n">${number(step.tokens_in)}</td><td class="n">${number(step.tokens_out)}</td><td class="n">${costOf(step)}</td><td class="n">${step.cost == null || step.unpriced || !step.in ? "–" : money(step.cost / step.in)}</td></tr>`)}</tbody>
    <tfoot><tr><th>All</th><td></td><td class="n">${number(row.calls)}</td><td></td><td></td><td class="n"><b>${costOf(row)}</b></td><td></td></tr></tfoot>
  </table>${row.cached > 0 && html`<p class="remark">${count(row.cached, "reply", "replies")} came from the cache; nothing was sent for them.</p>`}</div>`;
}

const LOGS = {run: "Run", trace: "Calls", studio: "Started here", tui: "Started in the terminal"};

function Logs({row}) {
  const which = row.logs.some((log) => log.which === query.value.get("log")) ? query.value.get("log") : row.logs[0]?.which;
  const {data, failure, reload} = useLoaded(which ? "/runs/log" : null, {run: row.run, which});
  useEffect(() => {
    if (data) reload();
  }, [row.updated, row.done, row.state]);
  if (!which) return html`<p class="note">A sift has no log. Its <code>summary.json</code> and <code>report.html</code> are in its folder.</p>`;
  return html`<div class="filters"><${Tabs} label="Logs" names=${row.logs.map((log) => [log.which, LOGS[log.which]])} value=${which} onChange=${(log) => refine({log})} /></div>
    ${failure ? html`<${Failed} failure=${failure} />` : html`<div class="scroll log" tabindex="0" role="region" aria-label="Log">${data?.cut && html`<p class="soft">The last part of ${bytes(data.size)}.</p>`}<pre>${data ? data.text || "The log is empty." : ""}</pre></div>`}`;
}

const SHOWS = [["", "Units"], ["codes", "Codes"], ["cost", "Cost"], ["log", "Log"]];

function Detail({row, onExplain}) {
  const unit = query.value.get("unit") ?? "";
  const at = query.value.get("at") ?? "";
  const show = query.value.get("show") ?? "";
  const names = row.kind === "sift" ? SHOWS.filter(([id]) => id !== "cost" && id !== "log") : SHOWS;
  const tabs = html`<${Tabs} label="About this run" names=${names} value=${show} onChange=${(id) => refine({show: id, unit: "", at: ""}, {replace: false})} controls="run-detail" />`;
  return html`<section class="panel detail" aria-label="Details" id="run-detail"><h2>${tabs}</h2>
    ${unit || at ? html`<${Unit} key=${`${unit} ${at}`} run=${row.run} unit=${unit} at=${at} back=${runLink(row.run, wanted())} onExplain=${onExplain} />`
      : show === "codes" ? html`<${Codes} row=${row} onExplain=${onExplain} />` : show === "cost" ? html`<${Cost} row=${row} />` : show === "log" ? html`<${Logs} row=${row} />` : html`<${Units} row=${row} />`}
  </section>`;
}

export function Run({name}) {
  const polling = useSignal(IDLE);
  const {data: row, failure, busy: looking, reload} = useLoaded("/runs/one", {run: name}, {every: polling.value});
  const busy = useSignal(false);
  const asking = useSignal(null);
  const explaining = useSignal(null);
  const live = isBusy(row);
  useEffect(() => {
    polling.value = live ? POLL : IDLE;
  }, [live]);
  useEffect(() => {
    document.title = `${name} · Runs · trueup studio`;
    return () => (document.title = "Runs · trueup studio");
  }, [name]);

  const send = async (path, body) => {
    busy.value = true;
    asking.value = null;
    try {
      const answer = await post(path, {run: name, ...body});
      if (!answer.started && answer.exhausted > 0) asking.value = {what: "attempts", body, ...answer};
      else say(answer.said || "Done.", answer.started ? "" : "bad");
    } catch (problem) {
      say([problem.message, problem.hint].filter(Boolean).join(" "), "bad");
    }
    busy.value = false;
    reload();
  };
  const act = (what) => (what === "kill" ? (asking.value = {what}) : send(`/runs/${what}`, {}));
  const canRetry = row?.kind === "run" && may("edit");
  useKeys({
    b: ["back to all runs", () => go(link("runs"))],
    ...(canRetry && !row.running && row.failed > 0 ? {r: ["retry failed units", () => act("retry")]} : {}),
    ...(canRetry && row.running ? {p: ["pause the run", () => act("pause")]} : {}),
    ...(canRetry && isStopped(row) ? {s: ["resume the run", () => act("resume")]} : {}),
  });
  if (failure && !row) return html`<div><${Failed} failure=${failure} /><p class="note"><a href=${link("runs")}>All runs</a></p></div>`;
  if (!row) return html`<p class="note" aria-busy=${looking}>Loading…</p>`;
  const explain = (code) => (explaining.value = code);
  return html`<${Head} row=${row} act=${act} busy=${busy.value}>${failure && html`<p class="bad" role="alert">${failure.message}</p>`}<//>
    ${row.steps.length > 0 && html`<div class="columns run-columns"><div class="stack"><${Funnel} row=${row} /><${Causes} row=${row} mayRetry=${may("edit")} onExplain=${explain} onRetry=${(cause) => send("/runs/retry", {step: cause.step, code: cause.code, path: cause.path})} /></div><${Detail} row=${row} onExplain=${explain} /></div>`}
    ${explaining.value && html`<${Explain} code=${explaining.value} onClose=${() => (explaining.value = null)} />`}
    ${asking.value?.what === "kill" && html`<${Dialog} title="End the process of this run?" closing="Cancel" onClose=${() => (asking.value = null)} actions=${html`<button type="button" class="main" onClick=${() => send("/runs/kill", {})}>End it</button>`}>
      <p>${row.under_way ? `${count(row.under_way, "call")} in progress may be lost but still cost money. Pause waits for them.` : "Pause lets it finish its calls first."} Recorded results are kept, and the run can be resumed.</p><//>`}
    ${asking.value?.what === "attempts" && html`<${Dialog} title="All attempts are used" closing="Cancel" onClose=${() => (asking.value = null)} actions=${html`<button type="button" class="main" onClick=${() => send("/runs/retry", {...asking.value.body, attempts: asking.value.limit + 2})}>Allow 2 more each and retry</button>`}>
      <p>The pipeline allows ${count(asking.value.limit, "attempt")} per unit, and ${count(asking.value.exhausted, "unit")} used ${asking.value.limit === 1 ? "it" : "them"}.</p><//>`}`;
}
