// Keys: a view registers its shortcuts with a sentence each; `?` lists the active ones. Typing in a field never triggers one.
import {useLayoutEffect, signal} from "../vendor.js";

const layers = signal([]); // sets of shortcuts; the last one wins

/** Register shortcuts while a component is shown: `useKeys({j: ["next verdict", next]})`. A key is the value of `event.key`, or `Ctrl+Enter`. */
export function useKeys(shortcuts, when = true) {
  const layer = {current: shortcuts};
  // In the layout effect, not after it: the second of two quick keys must act on what the first one changed.
  useLayoutEffect(() => {
    if (!when) return undefined;
    layers.value = [...layers.peek(), layer];
    return () => (layers.value = layers.peek().filter((each) => each !== layer));
  });
}

const SIGNS = {ArrowDown: "↓", ArrowUp: "↑", PageDown: "PgDn", PageUp: "PgUp", Escape: "Esc"};

/** Every active shortcut: `[sentence, [key, …]]`. */
export function listed() {
  const found = new Map();
  for (const layer of layers.value) for (const [key, [sentence]] of Object.entries(layer.current)) found.set(key, sentence);
  const said = new Map();
  for (const [key, sentence] of found) said.set(sentence, [...(said.get(sentence) ?? []), SIGNS[key] ?? key]);
  return [...said];
}

const isTyping = (target) => target.closest?.("input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

/** Whether Enter or the space bar activates the focused element, and so is not a shortcut. */
const presses = ({key, target}) => (key === "Enter" || key === " ") && target.closest?.("a[href], button, summary, input, [role=tab]");

addEventListener("keydown", (event) => {
  const types = event.getModifierState?.("AltGraph"); // `[` on many keyboards; Windows calls it Ctrl and Alt
  const holds = !types && (event.ctrlKey || event.metaKey);
  if (event.defaultPrevented || event.isComposing || (event.altKey && !types)) return;
  const name = holds ? `Ctrl+${event.key}` : event.key;
  if (!holds && (isTyping(event.target) || presses(event))) return;
  if (document.querySelector("dialog[open]")) return; // Escape closes only the dialog
  for (const layer of layers.peek().toReversed()) {
    const shortcut = layer.current[name];
    if (shortcut) {
      event.preventDefault();
      shortcut[1](event);
      return;
    }
  }
});
