// Saving: a text is written if the file has not changed since it was read. If it has, or if the text has errors, the user decides.
import {useSignal} from "../vendor.js";
import {get, put} from "../lib/api.js";
import {html} from "../lib/html.js";
import {Dialog, say} from "../lib/parts.js";
import {count} from "../lib/words.js";
import {Diff, merged} from "./contract-diff.js";
import {forget, keep} from "./contract-drafts.js";

const errorsIn = (faults) => faults.filter((fault) => fault.level === "error");

/**
 * How to save the change of a file: `{save, compare, busy, question}`; draw the `question`. `show` gets the current file on disk.
 *
 * A key may arrive before the last typed text is drawn or checked, so both are functions: `latest(file)` returns the text of the file as
 * `{text, base}`, and `linted()` the linter's last answer, `{text, faults}`. The studio checks each text again before it writes it.
 */
export function useSaving({file, latest, linted, show, reload = () => {}}) {
  const busy = useSignal(false);
  const asked = useSignal(null);
  const close = () => (asked.value = null);
  const failed = (failure) => say(`Not saved: ${failure.message} ${failure.hint}`, "bad");
  const compare = (force = false) => get("/contracts/file", {file}).then((theirs) => (asked.value = {kind: "changed", theirs, force}), failed);
  const write = async (hash, force, create) => {
    if (busy.value) return;
    close();
    busy.value = true;
    const sent = latest(file).text;
    try {
      const saved = await put("/contracts/file", {file, text: sent, hash, force, create});
      const now = latest(file)?.text ?? sent;
      if (now === sent) forget(file);
      else keep(file, now, {text: saved.text, hash: saved.hash}); // typed in the meantime
      show(saved);
      reload();
      const problems = saved.faults.length ? ` The linter reports ${count(saved.faults.length, "problem")}.` : "";
      const broken = saved.broken.length ? ` Errors in files that extend it: ${saved.broken.join(", ")}.` : "";
      say(`Saved ${file}.${problems}${broken}`, broken && "bad");
    } catch (failure) {
      if (failure.code === "changed") await compare(force);
      else if (failure.code === "lint_errors") asked.value = {kind: "faulty", hash, errors: errorsIn(failure.faults)};
      else if (failure.code === "no_file") asked.value = {kind: "gone", force};
      else failed(failure);
    } finally {
      busy.value = false;
    }
  };
  const save = () => {
    const {text, base} = latest(file);
    const last = linted();
    const errors = last.text === text ? errorsIn(last.faults) : [];
    if (errors.length) asked.value = {kind: "faulty", hash: base.hash, errors};
    else write(base.hash, false);
  };
  const theirs = (found) => {
    forget(file);
    show(found);
    close();
  };
  const merge = (both, found) => {
    keep(file, both, {text: found.text, hash: found.hash});
    show(found);
    close();
    say(both === found.text ? "Their text already has your change." : "Your change is now based on their text. Check it, then save.");
  };
  const found = asked.value;
  const question = found && {
    changed: () => html`<${Changed} ...${latest(file)} theirs=${found.theirs} onTheirs=${() => theirs(found.theirs)} onMine=${() => write(found.theirs.hash, found.force)} onMerge=${(both) => merge(both, found.theirs)} onClose=${close} />`,
    faulty: () => html`<${Faulty} errors=${found.errors} onForce=${() => write(found.hash, true)} onClose=${close} />`,
    gone: () => html`<${Dialog} title="The file is gone" onClose=${close} closing="Keep editing" actions=${html`<button type="button" class="main" onClick=${() => write("", found.force, true)}>Write it again</button>`}>
      <p>${file} is no longer there. Nothing is saved yet.</p><//>`,
  }[found.kind]();
  return {save, compare: () => compare(), busy: busy.value, question};
}

function Changed({base, text: mine, theirs, onTheirs, onMine, onMerge, onClose}) {
  const both = merged(base.text, theirs.text, mine);
  const actions = html`<button type="button" onClick=${onTheirs} title="Your change is lost">Load theirs</button>
    <button type="button" onClick=${onMine} title="Their change is lost">Save mine over it</button>
    ${both !== null && html`<button type="button" class="main" onClick=${() => onMerge(both)} title="The changes are in different places: keep both">Take both</button>`}`;
  return html`<${Dialog} title="The file has changed since you opened it" onClose=${onClose} closing="Keep editing" actions=${actions}>
    <p>Someone else, or another program, has written to it. Nothing is saved yet.${both === null && " Both changes touch the same lines."}</p>
    <div class="conflict">
      <section><h3>Their change</h3>${theirs.text === base.text ? html`<p class="soft">The text is the same; only its line endings differ.</p>` : html`<${Diff} old=${base.text} now=${theirs.text} label="Their change" />`}</section>
      <section><h3>Your change</h3><${Diff} old=${base.text} now=${mine} label="Your change" /></section>
    </div>
  <//>`;
}

function Faulty({errors, onForce, onClose}) {
  return html`<${Dialog} title="Save a contract that does not work?" onClose=${onClose} closing="Keep editing" actions=${html`<button type="button" onClick=${onForce}>Save anyway</button>`}>
    <p>The linter reports ${count(errors.length, "error")}. Programs that read this file will refuse it until ${errors.length === 1 ? "it is" : "they are"} corrected.</p>
    <ul class="problems">${errors.slice(0, 5).map((fault) => html`<li><span class="soft">${fault.line ? `line ${fault.line}` : fault.path}</span> ${fault.message}</li>`)}</ul>
  <//>`;
}
