// Compare two runs or sifts side by side: units that flip, values and findings that differ, and costs. Both are in the URL.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {stream} from "../lib/api.js";
import {Explain, pathOf} from "../lib/facts.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Panel, Tabs} from "../lib/parts.js";
import {link, query, refine} from "../lib/place.js";
import {useKeys} from "../lib/keys.js";
import {count, lasted, number, percent} from "../lib/words.js";
import {Reply} from "./run-unit.js";
import {costOf, runLink} from "./run-words.js";

const KINDS = [["valid_to_failed", "Valid → failed", "bad", "newly failed"], ["failed_to_valid", "Failed → valid", "ok", "newly valid"], ["other_value", "Another value", "warn", "valid, with another value"]];

/** The comparison of two runs as it arrives. Leaving the view stops the work. */
function useCompared(a, b) {
  const state = useSignal({});
  useEffect(() => {
    state.value = {};
    if (!a || !b || a === b) return undefined;
    const abort = new AbortController();
    (async () => {
      try {
        for await (const event of stream("/runs/compare", {a, b}, abort.signal)) state.value = event.result ? {result: event.result, seconds: event.seconds} : {seconds: event.progress.seconds};
      } catch (failure) {
        if (failure.name !== "AbortError") state.value = {failure};
      }
    })();
    return () => abort.abort();
  }, [a, b]);
  return state.value;
}

function Choose({label, value, runs, onChange}) {
  const known = runs.some(({run}) => run === value);
  return html`<label>${label} <select value=${value} onChange=${(event) => onChange(event.target.value)}>
    ${!value && html`<option value="" selected>choose a run</option>`}${value && !known && html`<option value=${value} selected>${value}</option>`}
    ${runs.map(({run, state}) => html`<option key=${run} value=${run} selected=${run === value}>${run} (${state})</option>`)}</select></label>`;
}

const Errors = ({errors, ok}) => (ok ? html`<span class="ok">valid</span>` : html`<ul>${errors.map((error, at) => html`<li key=${at}><code class="code">${error.code}</code> ${pathOf(error.path) && html`<b class="mono"><bdi>${pathOf(error.path)}</bdi></b>`} <bdi>${error.message}</bdi></li>`)}</ul>`);

function Side({run, title, unit, onExplain}) {
  const {data, failure} = unit;
  return html`<section class="side-of" aria-label=${title}><h3>${title} <bdi class="soft">${run}${data?.step ? ` · ${data.step}` : ""}</bdi></h3>
    ${failure ? html`<${Failed} failure=${failure} />` : !data ? html`<p class="note" aria-busy="true">Reading…</p>` : data.replies.length ? html`<${Reply} reply=${data.replies.at(-1)} onExplain=${onExplain} />` : html`<pre class="box">${data.value ?? "no reply"}</pre>`}</section>`;
}

/** Both replies of a unit: if one side failed, the replies of the step at which it failed. */
function Both({flip, a, b, onExplain}) {
  const [first, second] = flip.was === "failed" ? [a, b] : [b, a];
  const one = useLoaded("/runs/unit", {run: first, unit: flip.unit_id});
  const other = useLoaded(one.data || one.failure ? "/runs/unit" : null, {run: second, unit: flip.unit_id, step: flip.was === flip.now ? "" : one.data?.step});
  const [left, right] = flip.was === "failed" ? [one, other] : [other, one];
  return html`<div><${Side} run=${a} unit=${left} title="A" onExplain=${onExplain} /><${Side} run=${b} unit=${right} title="B" onExplain=${onExplain} /></div>`;
}

function Flip({flip, a, b, open, onToggle, onExplain}) {
  const values = flip.data_before !== undefined;
  return html`<tr class=${open ? "open" : ""}>
      <td class="name"><button type="button" class="plain link" aria-expanded=${open} onClick=${onToggle}><span aria-hidden="true">${open ? "▾" : "▸"}</span> <bdi class="mono">${flip.unit_id}</bdi></button></td>
      <td>${values ? html`<bdi class="mono">${flip.data_before}</bdi>` : html`<${Errors} errors=${flip.errors_before} ok=${flip.was === "valid"} />`}</td>
      <td>${values ? html`<bdi class="mono">${flip.data_now}</bdi>` : html`<${Errors} errors=${flip.errors_now} ok=${flip.now === "valid"} />`}</td></tr>
    ${open && html`<tr class="both"><td colspan="3"><${Both} ...${{flip, a, b, onExplain}} /></td></tr>`}`;
}

function Flips({result, a, b, onExplain}) {
  const opened = useSignal(null);
  const at = useSignal(-1);
  const asked = query.value.get("flips");
  const kind = KINDS.some(([id]) => id === asked) ? asked : (KINDS.find(([id]) => result.flips[id]?.units) ?? KINDS[0])[0];
  const {units, examples} = result.flips[kind] ?? {units: 0, examples: []};
  const toggle = (unit) => (opened.value = opened.value === unit ? null : unit);
  useKeys({
    j: ["next flip", () => (at.value = Math.min(examples.length - 1, at.value + 1)) >= 0 && (opened.value = examples[at.value]?.unit_id)],
    k: ["previous flip", () => (at.value = Math.max(0, at.value - 1)) >= 0 && (opened.value = examples[at.value]?.unit_id)],
  });
  const names = KINDS.map(([id, title]) => [id, `${title} ${number(result.flips[id]?.units ?? 0)}`]);
  return html`<section class="panel run-flips" aria-label="Flips" id="run-flips"><h2><${Tabs} label="Kinds of flips" names=${names} value=${kind} onChange=${(flips) => refine({flips})} controls="run-flips" /></h2>
    ${!examples.length ? html`<p class="note">${names.some(([id]) => result.flips[id]?.units) || result.same ? "No units of this kind." : "A and B have no units in common. Units are matched by their ids."}</p>` : html`<div class="scroll" tabindex="0" role="region" aria-label="List of flips"><table>
      <thead><tr><th>Unit</th><th>A</th><th>B</th></tr></thead>
      <tbody>${examples.map((flip) => html`<${Flip} key=${flip.unit_id} ...${{flip, a, b, onExplain}} open=${opened.value === flip.unit_id} onToggle=${() => toggle(flip.unit_id)} />`)}</tbody></table></div>`}
    <div class="foot"><span>${units > examples.length ? `the first ${examples.length} of ${count(units, "unit")}` : count(units, "unit")}</span></div>
  </section>`;
}

const signed = (value) => (value > 0 ? `+${number(value)}` : value < 0 ? `−${number(-value)}` : "0");

function Findings({result, onExplain}) {
  const groups = [["codes", "failed"], ["codes", "warned"], ["fixes", "fixed"]];
  const rows = groups.flatMap(([table, what]) => (result.findings[table] ?? []).filter((row) => row[what]?.a || row[what]?.b).map((row) => ({...row, what, ...row[what]})));
  return html`<${Panel} title="Findings and fixes" aside="units on each side">
    ${!rows.length ? html`<p class="note">No findings on either side.</p>` : html`<div class="scroll" tabindex="0" role="group" aria-label="Table: findings and fixes"><table><thead><tr><th>Code</th><th>What</th><th class="n">A</th><th class="n">B</th><th class="n">Difference</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${`${row.key} ${row.what}`}><td><button type="button" class="plain link code short" aria-label=${`Explain ${row.key}`} onClick=${() => onExplain(row.key)}>${row.key}</button></td><td>${row.title || row.name} <span class="soft">${row.what}</span></td><td class="n">${number(row.a)}</td><td class="n">${number(row.b)}</td><td class=${`n ${row.difference && row.what !== "fixed" ? (row.difference > 0 ? "bad" : "ok") : "soft"}`}>${signed(row.difference)}</td></tr>`)}</tbody></table></div>`}
  <//>`;
}

function Sides({result}) {
  const {a, b} = result;
  const rate = (side) => (side.counts.units ? percent(side.counts.valid / side.counts.units) : "–");
  const lines = [["Units", (side) => number(side.counts.units)], ["Valid", (side) => `${number(side.counts.valid)} · ${rate(side)}`], ["Failed", (side) => number(side.counts.failed)], ["Waiting", (side) => number(side.counts.pending)], ["Time", (side) => (side.seconds ? lasted(side.seconds) : "–")], ["Units a second", (side) => (side.units_per_second ? number(Math.round(side.units_per_second)) : "–")], ["Cost", costOf], ["State", (side) => side.state]];
  const only = [["Only in A", result.only_in_a], ["Only in B", result.only_in_b], ["Failed on both sides, with other errors", result.other_errors]].filter(([, row]) => row.units);
  return html`<${Panel} title="Side by side"><div class="scroll" tabindex="0" role="group" aria-label="Table: side by side"><table class="sides"><thead><tr><td></td><th class="n"><a href=${runLink(a.run)}>A</a></th><th class="n"><a href=${runLink(b.run)}>B</a></th></tr></thead>
      <tbody>${lines.map(([title, value]) => html`<tr key=${title}><th scope="row">${title}</th><td class="n">${value(a)}</td><td class="n">${value(b)}</td></tr>`)}</tbody></table>
    ${[a, b].map((side, at) => side.damaged.lines > 0 && html`<p class="remark bad" key=${at}>${count(side.damaged.lines, "line")} of ${at ? "B" : "A"} cannot be read.</p>`)}
    ${only.map(([title, row]) => html`<p class="remark" key=${title}>${title}: ${count(row.units, "unit")} <span class="soft"><bdi>${row.examples.slice(0, 3).join(", ")}${row.units > 3 ? "…" : ""}</bdi></span></p>`)}</div><//>`;
}

function Values({result}) {
  if (!result.values.length) return null;
  return html`<${Panel} title="Changed values" aside="by path"><div class="scroll" tabindex="0" role="group" aria-label="Table: changed values"><table><thead><tr><th>Path</th><th class="n">Units</th><th>A</th><th>B</th></tr></thead>
    <tbody>${result.values.map((row) => html`<tr key=${row.path}><td class="mono"><bdi>${pathOf(row.path) || "$"}</bdi></td><td class="n">${number(row.units)}</td><td class="mono"><bdi>${row.example?.before || "–"}</bdi></td><td class="mono"><bdi>${row.example?.now || "–"}</bdi></td></tr>`)}</tbody></table></div><//>`;
}

export function Compare() {
  const a = query.value.get("a") ?? "";
  const b = query.value.get("b") ?? "";
  const {data} = useLoaded("/runs");
  const {result, seconds, failure} = useCompared(a, b);
  const explaining = useSignal(null);
  const explain = (code) => (explaining.value = code);
  const runs = data?.runs ?? [];
  useKeys({b: ["back to all runs", () => history.back()]});
  return html`<section class="panel run-head" aria-label="Compare"><div class="title"><a class="button" href=${link("runs")} aria-label="All runs">←</a><h2>Compare</h2>
      <${Choose} label="A" value=${a} runs=${runs} onChange=${(value) => refine({a: value, flips: ""})} /><button type="button" title="Swap A and B" aria-label="Swap A and B" disabled=${!a || !b} onClick=${() => refine({a: b, b: a, flips: ""})}>⇄</button><${Choose} label="B" value=${b} runs=${runs} onChange=${(value) => refine({b: value, flips: ""})} />
      <span class="soft num tools" role="status">${result ? `compared in ${lasted(seconds)}` : seconds ? `comparing, ${seconds.toFixed(1)} s…` : a && b && a !== b && !failure ? "comparing…" : ""}</span></div></section>
    ${failure && html`<${Failed} failure=${failure} />`}
    ${(!a || !b) && html`<p class="note">Choose two runs or sifts. Units are matched by their ids, in any order.</p>`}
    ${a && a === b && html`<p class="note">A and B are the same run.</p>`}
    ${result && html`<div class="cards">${KINDS.map(([id, , kind, words]) => html`<div class="card" key=${id}><div class=${`figure ${result.flips[id]?.units ? kind : "none"}`}>${number(result.flips[id]?.units ?? 0)}</div><div>${words}</div></div>`)}<div class="card"><div class="figure">${number(result.same)}</div><div>unchanged</div></div></div>
      <div class="columns compare-columns"><${Flips} result=${result} a=${a} b=${b} onExplain=${explain} /><div class="stack"><${Sides} result=${result} /><${Findings} result=${result} onExplain=${explain} /><${Values} result=${result} /></div></div>`}
    ${explaining.value && html`<${Explain} code=${explaining.value} onClose=${() => (explaining.value = null)} />`}`;
}
