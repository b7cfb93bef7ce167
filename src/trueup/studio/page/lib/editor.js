// The editor: CodeMirror as a component. It takes a text and reports each edit.
// Line breaks stay unchanged. Only \n ends a line, so that offsets match those of the string, and \r is shown as a character.
import {
  Annotation, Compartment, EditorState, EditorView, HighlightStyle, MatchDecorator, Decoration, Prec, ViewPlugin, autocompletion, bracketMatching, closeBrackets,
  closeBracketsKeymap, closeSearchPanel, completionKeymap, defaultKeymap, drawSelection, findNext, findPrevious, history, historyField, historyKeymap, hoverTooltip, indentUnit, indentWithTab, isolateHistory, json, keymap, lineNumbers,
  lintKeymap, openSearchPanel, placeholder as hintOf, search, setDiagnostics, syntaxHighlighting, tags, tooltips, useEffect, useLayoutEffect, useRef, yaml,
} from "../vendor.js";
import {html} from "./html.js";
import {post} from "./api.js";
import {nonce} from "./place.js";
import {say} from "./parts.js";
import {bytes, shared} from "./words.js";

/** Maximum length of a text, in UTF-16 units: the server does not judge longer replies. */
export const MOST = 10_000_000;
const MOST_COLOURED = 300_000; // beyond that, parsing costs more than colours are worth
const FROM_OUTSIDE = Annotation.define();
const remembered = new Map(); // state and scroll position of editors that are not shown now

const COLOURS = syntaxHighlighting(HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName), tags.attributeName], class: "tok-key"},
  {tag: [tags.string, tags.special(tags.string)], class: "tok-text"},
  {tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], class: "tok-value"},
  {tag: tags.comment, class: "tok-comment"},
  {tag: [tags.labelName, tags.typeName, tags.meta], class: "tok-label"},
]));

// Characters that are invisible, or that reorder the text around them. Joiners are left alone where a script or an emoji needs them.
const ODD = new RegExp(
  "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb" +
  "\\u{e0000}-\\u{e01ef}]|\\p{Surrogate}|(?<![\\p{Lo}\\p{M}\\p{Extended_Pictographic}\\u{1f3fb}-\\u{1f3ff}\\ufe0f])[\\u200c\\u200d]", "gu");
const NAMES = {
  0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0b: "VT", 0x0c: "FF", 0x0d: "CR", 0x1b: "ESC", 0x7f: "DEL", 0x85: "NEL", 0xa0: "NBSP", 0xad: "SHY", 0x61c: "ALM", 0x200b: "ZWSP",
  0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
  0x202f: "NNBSP", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};
const drawn = new Map();

function seen(character) {
  const point = character.codePointAt(0);
  if (!drawn.has(point)) {
    const hex = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
    drawn.set(point, Decoration.mark({
      class: point === 0x0d ? "odd quiet" : point === 0xa0 ? "odd space" : "odd",
      attributes: {"data-name": NAMES[point] ?? hex, title: NAMES[point] ? `${hex} ${NAMES[point]}` : hex},
    }));
  }
  return drawn.get(point);
}

/** Shows invisible characters. The text does not change: the names are drawn beside it, and each character is isolated from its line. */
const OddCharacters = (() => {
  const matcher = new MatchDecorator({regexp: ODD, decoration: ([character]) => seen(character)});
  return ViewPlugin.define((view) => ({
    shown: matcher.createDeco(view),
    update(update) { this.shown = matcher.updateDeco(update, this.shown); },
  }), {decorations: (plugin) => plugin.shown});
})();

/** The element for completions and hovers: above everything, with an accessible name. */
function hints() {
  const found = document.getElementById("hints") ?? document.createElement("aside");
  if (!found.isConnected) {
    found.id = "hints";
    found.setAttribute("aria-label", "Hints");
    document.body.append(found);
  }
  return found;
}

const SEARCHING = [["Mod-f", openSearchPanel], ["F3", findNext, findPrevious], ["Mod-g", findNext, findPrevious], ["Escape", closeSearchPanel]]
  .map(([key, run, shift]) => ({key, run, shift, scope: "editor search-panel", preventDefault: key !== "Escape"}));
const languages = {yaml, json};
const colours = (language, length) => (language && length <= MOST_COLOURED ? [languages[language](), COLOURS] : []);

/** The offset of a line and a column (both from 1, in UTF-16 units), or the nearest one that exists. */
export function offset(doc, line, column) {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max(column - 1, 0), found.to);
}

function diagnostics(doc, faults) {
  return faults.filter((fault) => !fault.file && fault.line).map((fault) => {
    const from = offset(doc, fault.line, fault.column || 1);
    const to = fault.end_line ? offset(doc, fault.end_line, fault.end_column || 1) : from;
    const line = doc.lineAt(from);
    return {
      from: to > from ? from : Math.min(from, line.to), to: to > from ? to : line.to, severity: fault.level === "error" ? "error" : "warning",
      source: fault.code, message: fault.hint ? `${fault.message}\n${fault.hint}` : fault.message,
    };
  }).sort((one, other) => one.from - other.from);
}

/** One change that turns a text into another. The common beginning and end are kept, and so is the scroll position. */
function between(old, now) {
  if (old === now) return null;
  const [from, same] = shared(old, now);
  return {from, to: old.length - same, insert: now.slice(from, now.length - same)};
}

const place = (state, at) => {
  const line = state.doc.lineAt(at);
  return {line: line.number, column: at - line.from + 1};
};

/** Completion and hover from the server; a request that fails gives nothing. */
function assisted(about) {
  const ask = async (path, state, at, signal) => {
    try {
      return await post(path, {text: state.doc.toString(), ...place(state, at), ...about.current}, signal);
    } catch {
      return null;
    }
  };
  const complete = async (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    if (!context.explicit && !/[\w$-]$/.test(before)) return null;
    const abort = new AbortController();
    context.addEventListener("abort", () => abort.abort());
    const answer = await ask("/complete", context.state, context.pos, abort.signal);
    if (!answer?.items?.length) return null;
    return {
      from: answer.from ? offset(context.state.doc, answer.from.line, answer.from.column) : context.pos,
      options: answer.items.map(({label, detail, info, apply}) => ({label, detail: detail || undefined, info: info || undefined, apply: apply || undefined})),
      validFor: /^[\w$-]*$/,
    };
  };
  const hover = async (view, at) => {
    const answer = await ask("/hover", view.state, at);
    if (!answer?.text) return null;
    const {doc} = view.state;
    return {
      pos: answer.from ? offset(doc, answer.from.line, answer.from.column) : at,
      end: answer.to ? offset(doc, answer.to.line, answer.to.column) : at,
      above: true,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "hover";
        dom.textContent = answer.text;
        return {dom};
      },
    };
  };
  return [autocompletion({override: [complete], icons: false, activateOnTypingDelay: 80}), hoverTooltip(hover, {hoverTime: 250})];
}

/** Enter after a YAML key without a value: the next line is indented below the key. */
function indentBelowKey(view) {
  const {from, to} = view.state.selection.main;
  const line = view.state.doc.lineAt(from);
  const key = /^( *(?:- +)*)[^#]*: *$/.exec(line.text.slice(0, from - line.from));
  if (!key || view.state.readOnly) return false;
  const insert = `\n${" ".repeat(key[1].length + 2)}`;
  view.dispatch({changes: {from, to, insert}, selection: {anchor: from + insert.length}, scrollIntoView: true, userEvent: "input"});
  return true;
}

/** Typing over a selection, and in a read-only text. Otherwise Chromium keeps the colours of the deleted text in a style attribute, which the page's policy forbids. */
const overtyping = Prec.low(EditorView.domEventHandlers({
  beforeinput(event, view) {
    const {main} = view.state.selection;
    if (view.state.readOnly) {
      event.preventDefault();
      return true;
    }
    if (event.inputType !== "insertText" || !event.data || event.isComposing || main.empty) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(event.data), {userEvent: "input.type", scrollIntoView: true});
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, main.from, main.to, event.data, insert))) view.dispatch(insert());
    return true;
  },
}));

/** Refuses a paste or a drop that is too large, before it reaches the document; `onFile` takes dropped files. */
function guarded(limit, handlers) {
  const refuse = (event, size) => {
    event.preventDefault();
    say(`That is ${bytes(size)}; the page accepts texts of up to ${bytes(limit)}. Judge large files with \`trueup check\` or \`trueup sift\`.`, "bad");
    return true;
  };
  const take = (event, given) => {
    if (given?.files?.length && handlers.current.onFile) {
      event.preventDefault();
      handlers.current.onFile(given.files[0]);
      return true;
    }
    const text = given?.getData("text/plain") ?? "";
    return text.length > limit ? refuse(event, text.length) : false;
  };
  return [
    Prec.high(EditorView.domEventHandlers({paste: (event) => take(event, event.clipboardData), drop: (event) => take(event, event.dataTransfer)})),
    EditorState.changeFilter.of((change) => change.annotation(FROM_OUTSIDE) || change.newDoc.length <= limit),
  ];
}

/**
 * A text that can be edited: `value`, `onChange(text)`, `language` ("yaml", "json" or ""), `readOnly`, `waits` (read-only for now), `faults` (squiggly lines), `assist`
 * (`{kind, file}`: completion and hover), `numbers`, `label`, `placeholder`, `onFile(file)` for dropped files, `extensions` (fixed),
 * `onView(view)`, `memory` (a name under which the selection, the scroll position and the undo history outlive the component). With a
 * language Tab indents; Escape, then Tab, leaves.
 */
export function Editor({value, onChange, language = "", readOnly = false, waits = false, faults, assist, numbers = false, label, placeholder = "", onFile, extensions = [], onView, limit = MOST, memory, class: kind = ""}) {
  const host = useRef();
  const view = useRef(null);
  const parts = useRef(null);
  const handlers = useRef({});
  const about = useRef(assist);
  const known = useRef(value);
  handlers.current = {onChange, onFile};
  about.current = assist;
  const put = (text) => {
    known.current = text;
    const change = between(view.current.state.doc.toString(), text);
    if (change) view.current.dispatch({changes: change, annotations: [FROM_OUTSIDE.of(true), isolateHistory.of("full")]});
  };

  useEffect(() => {
    parts.current = {language: new Compartment(), fixed: new Compartment(), named: new Compartment()};
    const before = remembered.get(memory);
    const config = {
      doc: value,
      extensions: [
        EditorState.lineSeparator.of("\n"),
        EditorView.cspNonce.of(nonce),
        EditorView.lineWrapping,
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || update.transactions.every((each) => each.annotation(FROM_OUTSIDE))) return;
          known.current = update.state.doc.toString();
          handlers.current.onChange?.(known.current);
        }),
        guarded(limit, handlers),
        overtyping,
        extensions,
        numbers ? lineNumbers() : [],
        history(), drawSelection(), bracketMatching(), assist ? closeBrackets() : [], indentUnit.of("  "), search({top: true}), Prec.highest(OddCharacters),
        tooltips({parent: hints()}),
        assist ? assisted(about) : [],
        hintOf(placeholder),
        keymap.of([...(language === "yaml" ? [{key: "Enter", run: indentBelowKey}] : []), ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...SEARCHING, ...historyKeymap, ...defaultKeymap, ...(language && !readOnly ? [indentWithTab] : [])].filter(({key}) => key !== "Mod-Enter")),
        parts.current.language.of(colours(language, value.length)),
        parts.current.fixed.of(EditorState.readOnly.of(readOnly || waits)),
        parts.current.named.of(EditorView.contentAttributes.of({"aria-label": label, tabindex: "0"})),
        ...(language && !readOnly ? [EditorView.contentAttributes.of({"aria-description": "Tab indents; press Escape, then Tab, to leave."})] : []),
      ],
    };
    view.current = new EditorView({parent: host.current, state: before ? EditorState.fromJSON(before.state, config, {history: historyField}) : EditorState.create(config), scrollTo: before?.scroll});
    put(value);
    onView?.(view.current);
    return () => {
      onView?.(null);
      if (memory) remembered.set(memory, {state: view.current.state.toJSON({history: historyField}), scroll: view.current.scrollSnapshot()});
      view.current.destroy();
      view.current = null;
    };
  }, []);

  useLayoutEffect(() => { // before the next key: a later effect would overwrite what was typed in the meantime
    if (value !== known.current && view.current) put(value);
  }, [value]);
  useEffect(() => void view.current?.dispatch({effects: parts.current.language.reconfigure(colours(language, value.length))}), [language, value.length > MOST_COLOURED]);
  useEffect(() => void view.current?.dispatch({effects: parts.current.fixed.reconfigure(EditorState.readOnly.of(readOnly || waits))}), [readOnly, waits]);
  useEffect(() => void view.current?.dispatch({effects: parts.current.named.reconfigure(EditorView.contentAttributes.of({"aria-label": label, tabindex: "0"}))}), [label]);
  useEffect(() => {
    if (faults && view.current) view.current.dispatch(setDiagnostics(view.current.state, diagnostics(view.current.state.doc, faults)));
  }, [faults]);
  return html`<div class=${`editor ${kind}`} ref=${host} aria-busy=${waits}></div>`;
}
