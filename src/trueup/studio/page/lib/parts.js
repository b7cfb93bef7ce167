// Parts that several views share: panels, tags, tabs, dialogs, transient messages.
import {signal, useEffect, useRef} from "../vendor.js";
import {html} from "./html.js";

/** A panel with a head and, if given, a foot. */
export const Panel = ({title, aside, foot, class: kind = "", children, ...rest}) => html`
  <section class=${`panel ${kind}`} aria-label=${title} ...${rest}>
    <h2><span>${title}</span>${aside && html`<span class="aside">${aside}</span>`}</h2>
    ${children}
    ${foot && html`<div class="foot">${foot}</div>`}
  </section>`;

/** Replaces a view of the store when no store is open. */
export const NoStore = ({title}) => html`<${Panel} title=${title}><div class="note"><p>No store is open, so there is nothing to show.</p>
  <p>Start the studio with the store that your gateway writes to:</p><pre class="box">trueup studio --store verdicts.db</pre><p>Or look at sample traffic:</p><pre class="box">trueup studio --demo</pre></div><//>`;
/** Where verdicts come from. */
export const Filling = () => html`<p class="soft">A gateway with this store (<code>trueup serve</code>) adds a verdict for each reply; so does <code>Store.record_verdict</code> in Python. New ones appear here.</p>`;

/** A grade, level or outcome; its colour repeats its word. */
export const Tag = ({kind, children}) => html`<span class=${`tag ${kind}`}>${children ?? kind}</span>`;
export const Code = ({children}) => html`<code class="code">${children}</code>`;
export const Key = ({children}) => html`<kbd>${children}</kbd>`;

/** Tabs: `names` is `[[id, title], …]`. Arrow keys move, as in every list of tabs. */
export function Tabs({names, value, onChange, label, controls}) {
  const move = (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const at = names.findIndex(([id]) => id === value);
    const next = names[(at + step + names.length) % names.length][0];
    onChange(next);
    event.currentTarget.querySelector(`[data-tab="${next}"]`)?.focus();
    event.preventDefault();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${names.map(([id, title]) => html`
      <button type="button" role="tab" data-tab=${id} key=${id} aria-selected=${id === value} aria-controls=${controls}
        tabindex=${id === value ? 0 : -1} onClick=${() => onChange(id)}>${title}</button>`)}
  </div>`;
}

/** A modal dialog; Escape, a click outside and its last button close it. `actions` are the buttons before that one. */
export function Dialog({title, onClose, closing = "Close", actions, children}) {
  const dialog = useRef();
  useEffect(() => {
    dialog.current.showModal();
    return () => dialog.current?.close();
  }, []);
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${onClose} onClick=${(event) => event.target === dialog.current && onClose()}>
    <div class="dialog"><h2>${title}</h2>${children}
      <form method="dialog" class="buttons">${actions}<button>${closing}</button></form></div>
  </dialog>`;
}

const said = signal([]);
/** Show a message that disappears: `say("Saved.")`, `say("Not saved.", "bad")`. */
export function say(text, kind = "") {
  const message = {text, kind, id: Math.random()};
  said.value = [...said.peek(), message];
  setTimeout(() => (said.value = said.peek().filter((each) => each !== message)), kind === "bad" ? 8000 : 3000);
}
/** Copy a text, and say so. The clipboard is missing if the page came over plain HTTP from another machine. */
export async function copy(text, message = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
    say(message);
  } catch {
    say("The browser does not allow copying.", "bad");
  }
}
export const Messages = () => html`<div class="messages" role="status" aria-live="polite">
  ${said.value.map((each) => html`<p key=${each.id} class=${each.kind}>${each.text}</p>`)}</div>`;
