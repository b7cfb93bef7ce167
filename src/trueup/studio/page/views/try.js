// Try: a reply, a contract and the verdict, side by side and live.
import {render, useEffect, useRef} from "../vendor.js";
import {html} from "../lib/html.js";
import {useKeys} from "../lib/keys.js";
import {rowsOf} from "../lib/facts.js";
import {Dialog, say} from "../lib/parts.js";
import {fragment, go, query, refine, steps} from "../lib/place.js";
import {signal} from "../vendor.js";
import {packed, unpacked} from "./try-share.js";
import {ContractPanel} from "./try-contract.js";
import {ReplyPanel} from "./try-reply.js";
import {SourcePanel} from "./try-source.js";
import {VerdictPanel} from "./try-verdict.js";
import {Stream, jump} from "./try-stream.js";
import {asked, choose, chosen, contract, isEdited, isFresh, isNew, isSaved, isSlow, judgeSoon, judged, loadSamples, openContract, opening, pick, picked, plain, reply, restoreDraft, showSample, source, until} from "./try-state.js";

const AGAIN = 3000; // milliseconds
let opened = null; // the address whose content is shown
const address = () => JSON.stringify([fragment.value, query.value.get("example"), query.value.get("file")]);
const linked = signal(null);

/** Show what the URL names: a shared reply, an example, a file; on a first visit, a good example. */
function open() {
  opened = address();
  const [shared, named, file] = JSON.parse(opened);
  const isFirst = isNew();
  if (!isFirst && !shared && !named && !file) return;
  opening(async (showIt) => {
    if (shared) return showIt(await unpacked(shared));
    if (isFirst && await restoreDraft(showIt)) return;
    if (named || !file || !reply.value) await showExample(showIt, named);
    if (file) await openContract(showIt, file);
  }, (failure, showIt) => {
    say([failure.message, failure.hint].filter(Boolean).join(" "), "bad");
    return contract.value || showSample(showIt);
  });
}

async function showExample(showIt, name) {
  if (!await showSample(showIt, name) && name) throw new Error(`There is no example ${name.slice(0, 80)}.`);
}

async function share() {
  let address;
  try {
    const url = new URL(location.href);
    for (const name of ["example", "file"]) url.searchParams.delete(name);
    url.hash = await packed({...asked(), plain: plain.value});
    address = url.href;
  } catch (failure) {
    say([failure.message, failure.hint].filter(Boolean).join(" "), "bad");
    return;
  }
  go(address, {replace: true});
  opened = JSON.stringify([fragment.value, null, null]);
  isEdited.value = false; // the next change takes the link out of the address again
  try {
    await navigator.clipboard.writeText(address);
    say("Copied a link with the reply and the contract.");
  } catch {
    linked.value = address; // no clipboard: the page was opened over plain HTTP, or writing to it is not allowed
  }
}

/** The button in the bar. */
function useShareButton() {
  useEffect(() => {
    const place = document.getElementById("bar-actions");
    render(html`<button type="button" title="Copy a link with the reply and the contract" onClick=${share}>Share</button>`, place);
    return () => render(null, place);
  }, []);
}

const isGrounded = () => judged.value.contract?.grounded;

function step(by) {
  const {verdict} = judged.value;
  if (!verdict) return;
  if (query.value.get("show") === "evidence" && verdict.evidence) {
    const {length} = verdict.evidence.rows;
    if (length) pick(Math.max(0, Math.min((picked.value ?? (by > 0 ? -1 : length)) + by, length - 1)));
    return;
  }
  const {errors, warnings, fixes} = rowsOf(verdict.facts);
  const rows = [...errors, ...warnings, ...fixes];
  if (!rows.length) return;
  const at = rows.findIndex(({facts}) => facts.includes(chosen.value));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(at + by, rows.length - 1));
  if (query.value.get("show")) refine({show: ""});
  choose(rows[next].facts[0]);
}

const words = () => {
  const {verdict, faults, failure} = judged.value;
  if (failure) return ["No verdict", "bad"];
  if (!verdict) return faults.length ? ["Not judged", "bad"] : ["Judging…", "soft"];
  return verdict.ok ? ["Accepted", "ok"] : ["Refused", "bad"];
};

/** On a narrow screen the panels are below each other. This bar stays in view, shows the verdict, and links to each panel. */
function Jumps() {
  const to = (id) => document.getElementById(id)?.scrollIntoView({block: "start"});
  const [word, kind] = words();
  return html`<nav class="jumps-bar" aria-label="Panels">
    <button type="button" onClick=${() => to("try-reply")}>Reply</button><button type="button" onClick=${() => to("try-contract")}>Contract</button>${isGrounded() && html`<button type="button" onClick=${() => to("try-source")}>Source</button>`}
    <button type="button" class=${kind} onClick=${() => to("try-verdict")}><b>${word}</b></button>
  </nav>`;
}

function save() {
  if (source.value.text === null) say("This contract is not from a file.");
  else if (isSaved.value) say("There is nothing to save.");
  else if (ContractPanel.save) ContractPanel.save();
  else say("Your key cannot save contracts.");
}

export function Try() {
  const explain = useRef(() => {});
  const replyView = useRef(null);
  useEffect(() => {
    loadSamples();
    return () => (until.value = null);
  }, []);
  useEffect(() => {
    if ((steps.value[0] ?? "try") === "try" && address() !== opened) open();
  }, [address()]);
  useEffect(() => {
    // Edited content no longer matches the URL.
    if (!isEdited.value || !(fragment.value || query.value.get("example"))) return;
    const kept = new URLSearchParams(location.search);
    kept.delete("example");
    go(`${location.pathname}${kept.size ? `?${kept}` : ""}`, {replace: true});
    opened = address();
  }, [isEdited.value]);
  useEffect(() => {
    // A studio that does not respond may come back.
    const {failure} = judged.value;
    const again = failure && [0, 502, 503, 504].includes(failure.status) && setTimeout(() => judgeSoon(0), AGAIN);
    return () => clearTimeout(again);
  }, [judged.value.failure]);
  useShareButton();
  useKeys({
    j: ["next finding, fix or value", () => step(1)],
    k: ["previous finding, fix or value", () => step(-1)],
    e: ["explain the selected one", () => judged.value.verdict?.facts[chosen.value] && explain.current(judged.value.verdict.facts[chosen.value].code)],
    s: ["share: copy a link", share],
    "[": ["replay: previous change of the value", () => jump(-1)],
    "]": ["replay: next change of the value", () => jump(1)],
    i: ["edit the reply (Escape, then Tab leaves an editor)", () => replyView.current?.focus()],
    "Ctrl+Enter": ["judge now", () => judgeSoon(0)],
    "Ctrl+s": ["save the contract to its file", save],
    "F8 / Shift+F8": ["in the reply: next or previous mark", () => {}],
  });
  return html`<${Jumps} />
    <div class=${`columns try ${isGrounded() ? "sourced" : ""}`} data-judged=${isFresh.value && !isSlow.value ? "" : undefined}>
      <${ReplyPanel} onView=${(view) => (replyView.current = view)} /><${ContractPanel} />${isGrounded() && html`<${SourcePanel} />`}<${VerdictPanel} explain=${explain} />
    </div>
    <${Stream} />
    ${linked.value && html`<${Dialog} title="Share" onClose=${() => (linked.value = null)}><p>The browser does not allow copying. Copy this link yourself:</p><input aria-label="Link" readonly value=${linked.value} onFocus=${(event) => event.target.select()} /><//>`}`;
}
