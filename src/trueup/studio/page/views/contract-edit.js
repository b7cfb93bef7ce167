// Editing: the text of a contract, the linter's findings, and the effect of the change on stored replies while you type.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {about, may} from "../lib/about.js";
import {post} from "../lib/api.js";
import {Editor, offset} from "../lib/editor.js";
import {Figures, Flips, NoFigures} from "../lib/flips.js";
import {html} from "../lib/html.js";
import {useKeys} from "../lib/keys.js";
import {Failed, useLoaded} from "../lib/load.js";
import {Code, Key, Panel, Tabs, say} from "../lib/parts.js";
import {query, refine} from "../lib/place.js";
import {count, lasted, number} from "../lib/words.js";
import {useWork} from "../lib/work.js";
import {changes, hunks, Hunks, lines} from "./contract-diff.js";
import {draft, forget, keep} from "./contract-drafts.js";
import {Flip} from "./contract-flip.js";
import {Actions} from "./contract-head.js";
import {useSaving} from "./contract-save.js";

const TIMES = [["1d", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["90d", "Last 90 days"], ["all", "All time"]];
const LIMITS = [["", "All replies"], ["1000", "About 1,000 replies"], ["10000", "About 10,000 replies"], ["100000", "About 100,000 replies"]];
const [LINT_PAUSE, PAUSE] = [150, 350]; // milliseconds without a key before a text is checked, and then judged

/** The linter's findings for a text, shortly after it was typed. */
function useFaults(file, text, first, kind) {
  const found = useSignal({text: null, faults: first, failure: null});
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const {faults} = await post("/judge", {reply: "", contract: text, kind, file}, abort.signal);
        found.value = {text, faults, failure: null};
      } catch (failure) {
        if (failure.name !== "AbortError") found.value = {text, faults: [], failure};
      }
    }, LINT_PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [file, text, kind]);
  return {faults: found.value.faults, checked: found.value.text === text, unknown: found.value.failure, linted: () => found.peek()};
}

/** Which replies are judged again; all of it is in the URL. */
const selected = () => {
  const given = Object.fromEntries(["model", "state", "against"].map((name) => [name, query.value.get(name) ?? ""]));
  const since = query.value.get("since") ?? "30d";
  return {...given, since: since === "all" ? "" : since, limit: Number(query.value.get("limit")) || undefined};
};

export function Edit({file, loaded, reload, show, shown}) {
  const latest = () => draft(file) ?? {text: loaded.text, base: {text: loaded.text, hash: loaded.hash}};
  const kept = draft(file);
  const {text, base} = latest();
  const editable = may("edit") && !loaded.read_only;
  const {faults, checked, unknown, linted} = useFaults(file, text, loaded.faults, loaded.kind);
  const errors = faults.filter((fault) => fault.level === "error").length;
  const asked = selected();
  const wanted = shown && about.value.store && (kept || asked.against) && !unknown;
  const backtest = useWork("/backtest", wanted ? {file, text, ...asked} : null, {ready: checked && !errors, pause: PAUSE});
  const difference = kept ? lines(base.text, text) : [];
  const many = changes(difference);
  const saving = useSaving({file, latest, linted, reload, show});
  const discard = () => {
    forget(file);
    say("Discarded. Undo in the editor (Ctrl+Z) brings your change back.");
  };
  const save = () => {
    if (!draft(file)) say("There is nothing to save.");
    else if (!may("edit")) say("Your key cannot save contracts.");
    else if (loaded.read_only) say("The studio cannot write to this file.");
    else saving.save();
  };
  useKeys({"Ctrl+s": ["save the change", save]}, shown);
  const actions = html`<div class="contract-actions"><span class="cut" title=${file}>${file.split("/").at(-1)}</span>
    <button type="button" disabled=${!kept} onClick=${discard}>Discard</button>
    ${editable && html`<button type="button" class="main" disabled=${!kept || saving.busy} onClick=${saving.save} title="Ctrl+S">${many ? `Save ${count(many, "change")}` : "Save"}</button>`}</div>`;
  return html`<div class="change">
    ${shown && (editable || kept) && html`<${Actions}>${actions}<//>`}
    ${saving.question}
    <div class="change-left">
      <${Text} file=${file} kind=${loaded.kind} text=${text} faults=${faults} checked=${checked} unknown=${unknown} editable=${editable} many=${many} difference=${difference}
        moved=${kept && loaded.hash !== base.hash} onCompare=${saving.compare} onChange=${(now) => keep(file, now, latest().base)} note=${note(loaded)} />
      ${about.value.store && html`<${Replies} name=${loaded.name} asked=${asked} backtest=${backtest} errors=${errors} />`}
    </div>
    <div class="change-right">
      ${about.value.store ? html`<${Outcome} file=${file} text=${text} backtest=${backtest} kept=${kept} errors=${errors} asked=${asked} />` : html`<${NoStore} />`}
    </div>
  </div>`;
}

/** A note for the person who edits this file. */
function note(loaded) {
  const others = loaded.extended_by ?? [];
  if (!may("edit")) return "Your key is read-only: you can try a change here and see its effect, but not save it.";
  return loaded.read_only ? "The studio cannot write to this file. Try a change here, then copy it." : others.length ? `A change here also affects the files that extend it: ${others.slice(0, 5).join(", ")}${others.length > 5 ? ` and ${number(others.length - 5)} more` : ""}.` : "";
}

function Text({file, kind, text, faults, checked, unknown, editable, many, difference, moved, note: said, onChange, onCompare}) {
  const view = useRef(null);
  const tab = query.value.get("show") === "change" && many ? "change" : "text";
  const jump = (fault) => {
    refine({show: ""});
    setTimeout(() => {
      const at = offset(view.current.state.doc, fault.line, fault.column || 1);
      view.current.dispatch({selection: {anchor: at}, scrollIntoView: true});
      view.current.focus();
    });
  };
  const names = [["text", kind.slice(1).toUpperCase()], ["change", many ? `Change ${number(many)}` : "Change"]];
  const foot = html`<${Tabs} label="Parts of the contract" controls="contract-text" names=${names} value=${tab} onChange=${(id) => refine({show: id === "change" ? id : ""})} />
    <span aria-live="polite"><${Problems} faults=${faults} checked=${checked} unknown=${unknown} /></span>`;
  const state = many ? "unsaved" : editable ? "saved" : "read only";
  return html`<${Panel} title="Contract" class="contract-text" aside=${html`<span class=${many ? "warn" : ""}>${state}</span>`} foot=${foot}>
    ${said && html`<p class="banner">${said}</p>`}
    ${moved && html`<p class="banner warn" role="alert">This file has changed on disk since you started. <button type="button" onClick=${onCompare}>Compare</button></p>`}
    <div id="contract-text" role="tabpanel" aria-label=${tab === "text" ? "Text" : "Change"} class="scroll">
      <div hidden=${tab !== "text"} class="fill"><${Editor} value=${text} onChange=${onChange} language=${kind === ".json" ? "json" : kind === ".toml" ? "" : "yaml"} faults=${faults}
        assist=${{kind, file}} numbers label="Text of the contract" limit=${1_000_000} onView=${(made) => (view.current = made)} /></div>
      ${tab === "change" && html`<${Hunks} hunks=${hunks(difference)} label="Your change" />`}
    </div>
    ${faults.length > 0 && html`<ul class="problems" aria-label="Problems">${faults.map((fault) => html`<li key=${`${fault.line} ${fault.column} ${fault.code} ${fault.message}`}>
      <button type="button" class="plain" disabled=${!fault.line || fault.file} onClick=${() => jump(fault)}>
        <${Code}>${fault.code}<//><span class=${fault.level === "error" ? "bad" : "warn"}>${fault.level}</span>
        <span class="soft nowrap">${fault.file || (fault.line ? `line ${fault.line}` : "")}</span><span class="said">${fault.message}${fault.hint && html` <span class="soft">${fault.hint}</span>`}</span>
      </button></li>`)}</ul>`}
  <//>`;
}

function Problems({faults, checked, unknown}) {
  if (unknown) return html`<span class="warn" title=${unknown.hint}>not checked: ${unknown.message}</span>`;
  if (!checked && !faults.length) return html`<span class="soft">checking…</span>`;
  const errors = faults.filter((fault) => fault.level === "error").length;
  if (!faults.length) return html`<span class="ok">no problems</span>`;
  const words = [errors && count(errors, "error"), faults.length > errors && count(faults.length - errors, "warning")].filter(Boolean);
  return html`<span class=${errors ? "bad" : "warn"}>${words.join(", ")}</span>`;
}

// -- which replies ---------------------------------------------------------------------------------

function Replies({name, asked, backtest, errors}) {
  const {data} = useLoaded("/verdicts/counts", {contract: name});
  const pick = (field, all) => {
    const values = (data?.facets?.[field] ?? []).map((each) => each.value).filter(Boolean);
    const value = asked[field];
    if (value && !values.includes(value)) values.push(value);
    if (!values.length) return null;
    return html`<select aria-label=${`Replies: ${field}`} value=${value} onChange=${(event) => refine({[field]: event.currentTarget.value})}>
      <option value="">${all}</option>${values.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`;
  };
  const {found, phase, progress, isBusy} = backtest;
  const lost = Object.values(found?.unjudgeable ?? {}).reduce((sum, n) => sum + n, 0);
  return html`<${Panel} title="Replies" class="replies" foot=${html`<${Judged} backtest=${backtest} errors=${errors} />${!errors && (isBusy ? html`<button type="button" onClick=${backtest.stop}>Stop</button>` : phase !== "idle" && html`<button type="button" onClick=${backtest.again}>Judge again</button>`)}`}>
    <progress class=${isBusy && !errors ? "" : "quiet"} aria-label="Replies judged" max=${progress?.total || 1} value=${isBusy ? (progress?.judged ?? 0) : found ? progress?.total || 1 : 0}></progress>
    <div class="fields">
      <select aria-label="Replies: time" value=${query.value.get("since") ?? "30d"} onChange=${(event) => refine({since: event.currentTarget.value === "30d" ? "" : event.currentTarget.value})}>${TIMES.map(([id, title]) => html`<option key=${id} value=${id}>${title}</option>`)}</select>
      ${pick("model", "All models")}${pick("state", "All states")}
      <select aria-label="Replies: how many" value=${query.value.get("limit") ?? ""} onChange=${(event) => refine({limit: event.currentTarget.value})}>${LIMITS.map(([id, title]) => html`<option key=${id} value=${id}>${title}</option>`)}</select>
    </div>
    ${asked.against && html`<p class="banner">Compared with the version <${Code}>${asked.against.slice(0, 12)}<//> <button type="button" onClick=${() => refine({against: ""})}>Compare with the saved file</button></p>`}
    ${found && html`<dl class="tally">
      <div><dt>Replies</dt><dd class="num">${number(found.total)}</dd></div>
      <div><dt>Judged under both contracts</dt><dd class="num">${number(found.judged)}</dd></div>
      ${lost > 0 && html`<div><dt>Cannot be judged again</dt><dd class="num">${number(lost)}</dd></div>`}
      ${Object.entries(found.unjudgeable).map(([reason, n]) => html`<div key=${reason} class="inner"><dt>${found.reasons?.[reason] ?? reason.replaceAll("_", " ")}</dt><dd class="num">${number(n)}</dd></div>`)}
      <div><dt>Labelled by people</dt><dd class="num">${number(found.labels.replies)}</dd></div>
    </dl>`}
  <//>`;
}

function Judged({backtest: {phase, found, progress}, errors}) {
  if (phase === "waiting") return html`<span>Waiting for ${errors ? "a text without errors" : "you to stop typing"}…</span>`;
  if (phase === "running") return html`<span class="num">${progress ? `Judged ${number(progress.judged)} of ${number(progress.total)} · ${lasted(progress.seconds)}` : "Starting…"}</span>`;
  if (phase === "failed") return html`<span class="bad">Stopped by an error</span>`;
  if (!found) return html`<span>Nothing judged yet</span>`;
  return html`<span class="num">Judged ${number(found.judged)} of ${number(found.total)} · ${lasted(found.seconds)}${!found.complete && " · a random sample"}</span>`;
}

// -- the effect of the change -------------------------------------------------------------------------

function Outcome({file, text, backtest, kept, errors, asked}) {
  const {found, phase, stale, failure} = backtest;
  const faulty = errors > 0 && kept && `The text has ${count(errors, "error")}. The replies are judged once it is valid.`;
  const Open = (given) => html`<${Flip} ...${given} file=${file} text=${text} against=${asked.against} />`;
  if (failure) return html`<${NoFigures} /><${Panel} title="Flips"><${Failed} failure=${failure} /><//>`;
  if (!found) return html`<${NoFigures} /><${Panel} title="Flips" class="flips"><div class="note"><${Nothing} phase=${phase} faulty=${faulty} /></div><//>`;
  return html`<div class=${`outcome ${faulty ? "faulty" : stale ? "stale" : ""}`} aria-busy=${stale && !faulty}>
    <${Figures} found=${found} />
    <p class=${`conclusion ${faulty ? "bad" : "soft"}`} aria-live=${phase === "done" || faulty ? "polite" : "off"}>${faulty || found.conclusion}</p>
    <${Flips} found=${found} open=${Open}>
      <p>${phase !== "done" ? "No flips so far." : found.judged || found.same_fingerprint ? "No flips: every decision stays the same." : found.total ? "None of these replies can be judged again." : "The store has no matching replies. Choose a longer time."}</p>
    <//>
  </div>`;
}

function Nothing({phase, faulty}) {
  if (faulty) return html`<p>${faulty}</p>`;
  if (phase !== "idle") return html`<p aria-busy="true">Judging stored replies under both contracts…</p>`;
  return html`<p>Change the text. The stored replies are judged again as you type, and every reply that flips is listed here.</p>
    <p class="soft">Nothing is written until you save: <${Key}>Ctrl<//> <${Key}>S<//>.</p>`;
}

const NoStore = () => html`<${NoFigures} /><${Panel} title="Flips" class="flips"><div class="note">
  <p>No store is open, so there are no replies to judge again.</p>
  <p class="soft">Start the studio with the store of your gateway: <code>trueup studio contracts --store verdicts.db</code>, or look around with <code>trueup studio --demo</code>.</p></div><//>`;
