// Live: recent requests. Numbers come from the store every few seconds; while the page is hidden, nothing is loaded.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {about} from "../lib/about.js";
import {Chart} from "../lib/chart.js";
import {useKeys} from "../lib/keys.js";
import {Failed, Waiting, useLoaded} from "../lib/load.js";
import {Code, Filling, Key, NoStore, Panel, Tag} from "../lib/parts.js";
import {go, link, query, refine} from "../lib/place.js";
import {count, exactly, lasted, money, number, percent, short, when} from "../lib/words.js";

const WINDOWS = [
  ["5m", "5 min", 2, "5 minutes"],
  ["1h", "1 hour", 5, "hour"],
  ["24h", "24 hours", 15, "24 hours"],
  ["7d", "7 days", 30, "7 days"],
]; // id, title, seconds between updates, "in the last …"
const MANY = 5000; // replies in a window from which it is updated less often
const LOOKS = {
  accepted: {colour: "ok"},
  repaired: {colour: "warn"},
  regenerated: {colour: "warn", hatched: true},
  degraded: {colour: "soft"},
  fallback: {colour: "bad", hatched: true},
  failed: {colour: "bad"},
};
const MEANS = {
  accepted: "The first reply was valid.",
  repaired: "Valid after the model was told what was wrong.",
  regenerated: "Valid after the model was asked again from the start.",
  degraded: "The best reading of an invalid reply was passed on.",
  fallback: "The fallback of the contract was sent.",
  failed: "No valid reply.",
};
const LOST = ["failed", "fallback", "degraded"];
const STEPS = {5: "5 seconds", 60: "a minute", 3600: "an hour", 10800: "3 hours"};
const PERIODS = {hour: "this hour", day: "today", month: "this month", total: "in all"};

/** A rate per minute, or per longer time if that is below one. */
function rate(many) {
  const [minutes, word] = [[1, "a minute"], [60, "an hour"], [1440, "a day"]].find(([long]) => many * long >= 1) ?? [1440, "a day"];
  return `${number(Math.round(many * minutes * 10) / 10)} ${word}`;
}

/** `part` of `whole` as a share; nothing if `whole` is 0. */
const share = (part, whole) => (whole ? part / whole : null);
const sumOf = (rows, name) => rows.reduce((sum, each) => sum + each[name], 0);
const outcome = (data, ...names) => sumOf(data.outcomes.filter((each) => names.includes(each.outcome)), "count");

function Card({title, figure, kind = "", children}) {
  return html`<div class="card"><dt class="soft">${title}</dt><dd><span class=${`figure ${kind}`}>${figure}</span><span class="soft under">${children}</span></dd></div>`;
}

function Cards({data}) {
  const {requests, latency, tokens} = data;
  const lost = data.outcomes.filter((each) => LOST.includes(each.outcome));
  const unanswered = outcome(data, ...LOST);
  const sample = `${data.is_sampled ? "sample " : ""}of ${number(latency.of)}`;
  return html`<dl class="cards">
    <${Card} title="Requests" figure=${number(requests)}>${rate(data.per_minute)}<//>
    <${Card} title="Valid first time" figure=${percent(share(outcome(data, "accepted"), requests))}>${number(outcome(data, "accepted"))} accepted without a retry<//>
    <${Card} title="Asked again" figure=${percent(share(sumOf(data.models, "retried"), sumOf(data.models, "asked")))} kind=${data.models.some((each) => each.warned) ? "warn" : ""}>warning above ${percent(data.threshold)} of a model<//>
    <${Card} title="No valid reply" figure=${percent(share(unanswered, requests))} kind=${unanswered ? "bad" : ""}>${lost.map((each) => `${number(each.count)} ${each.outcome}`).join(", ") || "none"}<//>
    <${Card} title="Latency, median" figure=${lasted(latency.median)}>${latency.of ? `95 % within ${lasted(latency.p95)} (${sample})` : "not measured"}<//>
    <${Card} title="Cost" figure=${money(data.cost)}>${short(tokens.in)} tokens in, ${short(tokens.out)} out${data.is_sampled ? ` of ${number(tokens.of)}` : ""}<//>
  </dl>`;
}

function Outcomes({data}) {
  const series = data.outcomes.map((each) => ({title: each.outcome, values: each.counts, ...LOOKS[each.outcome]}));
  const open = (time, step) => go(link("verdicts", {since: Math.floor(time), until: Math.ceil(time + step)}));
  return html`<${Panel} title="Requests by outcome" aside=${`a bar is ${STEPS[data.step] ?? lasted(data.step)}`}>
    <${Chart} title="Requests by outcome" times=${data.times} step=${data.step} series=${series} onPick=${open} />
  <//>`;
}

function Latencies({data}) {
  const series = [
    {title: "median", values: data.latencies.median},
    {title: "95 % within", values: data.latencies.p95},
  ];
  return html`<${Panel} title="Latency" aside=${data.is_sampled ? `of an even sample of ${number(data.latency.of)}` : ""}>
    ${!data.latency.of ? html`<p class="note">No latency was measured.</p>` : html`<${Chart} title="Latency" kind="lines" times=${data.times} step=${data.step} series=${series} format=${lasted} tick=${(value) => (value ? lasted(value) : "0")} />`}
  <//>`;
}

/** A bar beside a number. `mark`: the position of a limit. */
function Meter({value, kind = "", mark = null}) {
  const part = (at) => `${Math.max(0, Math.min(1, at)) * 100}%`;
  return html`<span class=${`meter ${kind}`} aria-hidden="true"><i style=${{width: part(value)}}></i>${mark !== null && html`<b style=${{left: part(mark)}}></b>`}</span>`;
}

function Models({data}) {
  const most = Math.max(0.4, ...data.models.map((each) => each.retry_rate));
  const isShared = sumOf(data.models, "asked") > data.requests;
  return html`<${Panel} title="Models" aside=${`asked again: warning above ${percent(data.threshold)}, from ${data.least} requests on`}>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of models"><table>
      <thead><tr><th scope="col">Model</th><th scope="col" class="n">Requests</th><th scope="col">Asked again</th><th scope="col" class="n">Failed</th><th scope="col" class="n">Median</th><th scope="col" class="n">95 %</th><th scope="col" class="n">Cost</th></tr></thead>
      <tbody>${data.models.map((each) => html`<tr key=${each.model}>
        <th scope="row"><a class="cut" title=${each.model} href=${link("verdicts", {model: each.model, since: Math.floor(data.since)})}>${each.model || "(no name)"}</a></th>
        <td class="n">${number(each.asked)}</td>
        <td><span class="rate"><span class="num">${percent(each.retry_rate)}</span><${Meter} value=${each.retry_rate / most} mark=${data.threshold / most} kind=${each.warned ? "warn" : ""} />${each.warned && html`<${Tag} kind="warning">over ${percent(data.threshold)}<//>`}</span></td>
        <td class="n">${percent(each.failure_rate)}</td><td class="n">${lasted(each.latency.median)}</td><td class="n">${lasted(each.latency.p95)}</td><td class="n">${money(each.cost)}</td>
      </tr>`)}</tbody>
    </table></div>
    ${isShared && html`<p class="foot">A request that falls back to another model counts for both, and as failed for the first.</p>`}
  <//>`;
}

function Refusals({data}) {
  return html`<${Panel} title="Latest refusals" aside=${html`<a href=${link("verdicts", {ok: "false", since: Math.floor(data.since)})}>all</a>`}>
    ${data.refusals.length ? html`<ol class="refusals scroll" tabindex="0" aria-label="Latest refusals">${data.refusals.map((each) => html`<li key=${each.id}><a href=${link("verdicts", each.id)}>
      <span class="head"><time class="num" dateTime=${new Date(each.at * 1000).toISOString()} title=${exactly(each.at)}>${when(each.at)}</time>${each.codes.slice(0, 3).map((code) => html`<${Code} key=${code}>${code}<//>`)}<span class="soft cut">${[each.contract, each.state, each.model].filter(Boolean).join(" · ")}</span></span>
      ${each.message && html`<span class="cut why" dir="auto">${each.message}</span>`}
      <span class="cut soft" dir="auto">${each.text === null ? html`<i>The text was not kept.</i>` : each.text.trim().slice(0, 200) || html`<i>No text.</i>`}</span>
    </a></li>`)}</ol>` : html`<p class="note">Nothing was refused.</p>`}
  <//>`;
}

function Quotas({data}) {
  const words = (each, value) => (each.unit === "cost" ? money(value) : number(value));
  return html`<${Panel} title="Quota by tenant">
    ${data.quotas.length ? html`<ul class="lined scroll" tabindex="0" aria-label="Quota by tenant">${data.quotas.map((each) => {
      const part = share(each.used + each.held, each.limit) ?? 1;
      const kind = part >= 1 ? "bad" : part >= 0.8 ? "warn" : "";
      return html`<li key=${`${each.tenant} ${each.unit} ${each.period}`}>
        <span class="cut" title=${each.tenant}>${each.tenant || "(no name)"}</span><span class="soft">${each.unit} ${PERIODS[each.period]}</span>
        <span class="num end">${words(each, each.used)} of ${words(each, each.limit)}${each.held ? html`<span class="soft"> + ${words(each, each.held)} on hold</span>` : ""}</span>
        <${Meter} value=${part} kind=${kind} /><span class=${`num ${kind}`}>${percent(part)}${part >= 1 ? " used up" : ""}</span>
      </li>`;
    })}</ul>` : html`<div class="note"><p>No tenant has a limit.</p><p><code>trueup quota set TENANT 1000</code> sets one.</p></div>`}
  <//>`;
}

function Findings({data}) {
  const most = Math.max(1, ...data.codes.map((each) => each.count));
  return html`<${Panel} title="Why replies were refused">
    ${data.codes.length ? html`<ul class="lined codes scroll" tabindex="0" aria-label="Why replies were refused">${data.codes.map((each) => html`<li key=${each.code}>
      <a class="code" href=${link("verdicts", {code: each.code, since: Math.floor(data.since)})}>${each.code}</a><span class="cut" title=${each.title}>${each.title}</span>
      <span class="num end">${number(each.count)}</span><${Meter} value=${each.count / most} kind="bad" />
    </li>`)}</ul>` : html`<p class="note">Nothing was refused.</p>`}
  <//>`;
}

function Gateway({status}) {
  const {version, uptime, problems = [], routes = [], breakers = []} = status;
  return html`<${Panel} title="Gateway" aside=${`version ${version} · up ${lasted(uptime)}`}>
    <div class="scroll gateway" tabindex="0" role="region" aria-label="State of the gateway">
      <p>${problems.length ? html`<${Tag} kind="error">not ready<//> ${problems.join(", ")}` : html`<${Tag} kind="ok">ready<//>`}
        ${breakers.length ? html` <${Tag} kind="warning">not used at the moment<//> ${breakers.join(", ")}` : ""}</p>
      ${routes.length > 0 && html`<table><thead><tr><th scope="col">Route</th><th scope="col">Models</th><th scope="col">Contract</th></tr></thead>
        <tbody>${routes.map((each) => html`<tr key=${each.name}><th scope="row">${each.name}</th><td>${[each.models].flat().join(", ")}</td><td>${each.contract || "none: passed through"}</td></tr>`)}</tbody></table>`}
    </div>
  <//>`;
}

function Warnings({data}) {
  const warned = data.models.filter((each) => each.warned);
  if (!warned.length) return null;
  return html`<ul class="told warned">${warned.map((each) => html`<li key=${each.model}><${Tag} kind="warning" /><span><a href=${link("verdicts", {model: each.model, since: Math.floor(data.since)})}>${each.model || "A model without a name"}</a> is asked again for ${percent(each.retry_rate)} of ${count(each.asked, "request")}, over ${percent(data.threshold)}.</span></li>`)}</ul>`;
}

function Bar({shown, data, failure, paused, turn}) {
  return html`<div class="live-bar">
    <nav class="tabs" aria-label="Window">${WINDOWS.map(([id, title]) => html`<a key=${id} href=${link("live", {window: id})} aria-current=${id === shown ? "true" : undefined}>${title}</a>`)}</nav>
    <p class="soft num">${failure ? html`<span class="bad" role="alert">${failure.message} Numbers from ${data ?  when(data.now) : "–"}.</span>` : data ? html`<span class=${`pulse${paused ? " still" : ""}`} aria-hidden="true"></span>${paused ? "Paused; numbers from" : "Updated"} ${when(data.now)}` : ""}</p>
    <button type="button" aria-pressed=${paused} onClick=${turn}>${paused ? "Resume" : "Pause"} <${Key}>p<//></button>
  </div>`;
}

export function Live() {
  const asked = query.value.get("window");
  const at = Math.max(0, WINDOWS.findIndex(([id]) => id === (asked ?? "1h")));
  const [shown, , seconds, span] = WINDOWS[at];
  const held = useSignal(null); // the numbers shown while paused, whatever is still loading
  const paused = held.value != null;
  const busy = useSignal(false);
  const {data: newest, failure} = useLoaded(about.value.store ? "/live" : null, {window: shown}, {every: paused ? 0 : seconds * (busy.value ? 4000 : 1000)});
  const data = held.value ?? newest;
  busy.value = newest?.replies > MANY;
  const turn = () => (held.value = paused ? null : data);
  const move = (step) => WINDOWS[at + step] && refine({window: WINDOWS[at + step][0]});
  useKeys({p: ["pause or resume", turn], "[": ["shorter window", () => move(-1)], "]": ["longer window", () => move(1)]});
  useEffect(() => void (held.value = null), [shown]);
  if (!about.value.store) return html`<${NoStore} title="Live" />`;
  if (!data) return failure ? html`<${Failed} failure=${failure} />` : html`<${Waiting} busy />`;
  const mine = data.window === shown;
  return html`<div class=${`live${mine ? "" : " old"}`} aria-busy=${!mine}>
    <${Bar} shown=${shown} data=${data} failure=${failure} paused=${paused} turn=${turn} />
    ${data.is_cut && html`<p class="told">The latest ${number(data.replies)} replies are counted, back to ${when(data.since)}.</p>`}
    <${Warnings} data=${data} />
    ${data.requests ? html`<${Cards} data=${data} />
      <div class="pair"><${Outcomes} data=${data} /><${Latencies} data=${data} /></div>
      <div class="pair"><div class="stack"><${Models} data=${data} /><${Findings} data=${data} /></div><${Refusals} data=${data} /></div>` : html`<${Panel} title="Requests"><div class="note"><p>No requests in the last ${span}.</p><${Filling} /></div><//>`}
    <div class="pair"><${Quotas} data=${data} />${data.gateway && html`<${Gateway} status=${data.gateway} />`}</div>
    ${data.requests > 0 && html`<dl class="meanings">${data.outcomes.filter((each) => MEANS[each.outcome]).map((each) => html`<div key=${each.outcome}><dt>${each.outcome}</dt><dd>${MEANS[each.outcome]}</dd></div>`)}</dl>`}
  </div>`;
}
