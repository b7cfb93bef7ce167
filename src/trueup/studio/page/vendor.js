// What the page uses of each library. The modules of the page import libraries from here alone.
export {h, render, Fragment, createContext} from "preact";
export {useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useErrorBoundary, useId} from "preact/hooks";
export {signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect} from "@preact/signals";
export {default as htm} from "htm";
export {EditorState, EditorSelection, StateField, StateEffect, Compartment, RangeSetBuilder, Prec, Annotation, Facet} from "@codemirror/state";
export {EditorView, Decoration, WidgetType, ViewPlugin, keymap, lineNumbers, hoverTooltip, drawSelection, highlightActiveLine, placeholder, tooltips, showTooltip, MatchDecorator} from "@codemirror/view";
export {history, historyField, historyKeymap, defaultKeymap, indentWithTab, isolateHistory} from "@codemirror/commands";
export {HighlightStyle, syntaxHighlighting, foldGutter, bracketMatching, indentUnit, foldKeymap} from "@codemirror/language";
export {yaml} from "@codemirror/lang-yaml";
export {json} from "@codemirror/lang-json";
export {autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, startCompletion} from "@codemirror/autocomplete";
export {linter, lintGutter, setDiagnostics, forceLinting, lintKeymap} from "@codemirror/lint";
export {closeSearchPanel, findNext, findPrevious, openSearchPanel, search} from "@codemirror/search";
export {tags} from "@lezer/highlight";
export {default as uPlot} from "uplot";
