// The parts of each library that the page uses. Modules of the page import libraries only from here.
export {h, render} from "preact";
export {useEffect, useLayoutEffect, useRef, useMemo, useErrorBoundary} from "preact/hooks";
export {signal, computed, effect, batch, useSignal} from "@preact/signals";
export {default as htm} from "htm";
export {EditorState, StateField, StateEffect, Compartment, Prec, Annotation} from "@codemirror/state";
export {EditorView, Decoration, WidgetType, ViewPlugin, keymap, lineNumbers, hoverTooltip, drawSelection, placeholder, tooltips, showTooltip, MatchDecorator} from "@codemirror/view";
export {history, historyField, historyKeymap, defaultKeymap, indentWithTab, isolateHistory} from "@codemirror/commands";
export {HighlightStyle, syntaxHighlighting, bracketMatching, indentUnit} from "@codemirror/language";
export {yaml} from "@codemirror/lang-yaml";
export {json} from "@codemirror/lang-json";
export {autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap} from "@codemirror/autocomplete";
export {linter, setDiagnostics, lintKeymap} from "@codemirror/lint";
export {closeSearchPanel, findNext, findPrevious, openSearchPanel, search} from "@codemirror/search";
export {tags} from "@lezer/highlight";
export {default as uPlot} from "uplot";
