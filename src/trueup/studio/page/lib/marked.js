// The marked reply: it takes a text, its marks and its facts, and draws the text with each mark in place, in Try and in a stored verdict.
// Colour is never the only sign of a mark: it is underlined, its code shows on hover and under the cursor, and it chooses its row in the list of facts.
import {Decoration, EditorView, Prec, StateEffect, StateField, WidgetType, hoverTooltip, keymap, showTooltip, useEffect, useMemo, useRef, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {Editor} from "./editor.js";
import {kindOf, summary} from "./facts.js";

const MOST_IN_TIP = 4;
const BREAKS = /^\n*$/;

const setMarks = StateEffect.define();
const setChosen = StateEffect.define();
const setUntil = StateEffect.define();
const hideTip = StateEffect.define();

/** A place where something was added, or where only a line break is marked: there is no text to underline. */
class Point extends WidgetType {
  constructor(fact, kind, chosen) {
    super();
    Object.assign(this, {fact, kind, chosen});
  }
  eq(other) {
    return other.fact === this.fact && other.kind === this.kind && other.chosen === this.chosen;
  }
  toDOM() {
    const dom = document.createElement("span");
    dom.className = `mark point ${this.kind}${this.chosen ? " chosen" : ""}`;
    dom.dataset.fact = this.fact;
    return dom;
  }
  ignoreEvent() {
    return false;
  }
}

function decoration(start, end, text, fact, kind, chosen) {
  const points = start === end || BREAKS.test(text);
  return points
    ? Decoration.widget({widget: new Point(fact, kind, chosen), side: 1, fact, kind}).range(start)
    : Decoration.mark({class: `mark ${kind}${chosen ? " chosen" : ""}`, attributes: {"data-fact": String(fact)}, fact, kind}).range(start, end);
}

const NONE = {set: Decoration.none, facts: [], chosen: null, tip: null};

function drawnMarks({doc}, {marks, facts}, chosen) {
  const drawn = [];
  for (const [start, end, fact] of marks) {
    if (start < 0 || end < start || end > doc.length || !facts[fact]) continue;
    drawn.push(decoration(start, end, end - start > 64 ? "x" : doc.sliceString(start, end), fact, kindOf(facts[fact]), fact === chosen));
  }
  return Decoration.set(drawn, true);
}

function rechosen({doc}, {set, facts}, before, after) {
  const again = [];
  const rest = set.update({
    filter(from, to, {spec}) {
      if (spec.fact !== before && spec.fact !== after) return true;
      again.push(decoration(from, to, to - from > 64 ? "x" : doc.sliceString(from, to), spec.fact, kindOf(facts[spec.fact]), spec.fact === after));
      return false;
    },
  });
  return rest.update({add: again, sort: true});
}

/** The facts at a place, innermost first. */
function factsAt({set}, at, side = 0) {
  const found = [];
  set.between(at, at, (from, to, {spec}) => {
    if (from === to || (at >= from && at <= to && !(at === to && side > 0) && !(at === from && side < 0))) found.push({from, to, fact: spec.fact});
  });
  return found.sort((one, other) => one.to - one.from - (other.to - other.from));
}

const under = StateField.define({
  create: () => NONE,
  update(value, change) {
    let next = value;
    if (change.docChanged) next = {...next, set: next.set.map(change.changes), tip: null};
    for (const effect of change.effects) {
      if (effect.is(setMarks)) next = {...next, ...effect.value, set: drawnMarks(change.state, effect.value, next.chosen), tip: null};
      if (effect.is(setChosen) && effect.value !== next.chosen) next = {...next, set: rechosen(change.state, next, next.chosen, effect.value), chosen: effect.value};
    }
    if (next.tip && change.effects.some((effect) => effect.is(hideTip))) next = {...next, tip: null};
    if (change.selection && !change.docChanged && change.isUserEvent("select")) {
      const {main} = change.state.selection;
      const found = main.empty ? factsAt(next, main.head) : [];
      next = {...next, tip: found.length ? {pos: found[0].from, facts: found.map(({fact}) => fact)} : null};
    }
    return next;
  },
  provide: (field) => [
    EditorView.decorations.from(field, ({set}) => set),
    showTooltip.from(field, ({tip, facts}) => tip && {pos: tip.pos, above: true, create: () => ({dom: tooltip(tip.facts, facts)})}),
  ],
});

const later = StateField.define({
  create: () => Decoration.none,
  update(value, change) {
    let next = change.docChanged ? Decoration.none : value;
    for (const effect of change.effects) {
      if (!effect.is(setUntil)) continue;
      const {length} = change.state.doc;
      next = effect.value === null || effect.value >= length ? Decoration.none : Decoration.set(Decoration.mark({class: "later"}).range(effect.value, length));
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const element = (name, kind, text) => {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
};

function tooltip(which, facts) {
  const dom = document.createElement("div");
  dom.className = "tips";
  for (const fact of which.slice(0, MOST_IN_TIP).map((index) => facts[index])) {
    const row = document.createElement("div");
    row.append(element("code", "code", fact.code), element("span", `tag ${kindOf(fact)}`, fact.grade ?? kindOf(fact)), element("bdi", "soft path", fact.path), element("bdi", "said", summary(fact)));
    dom.append(row);
  }
  if (which.length > MOST_IN_TIP) dom.append(element("p", "soft", `and ${which.length - MOST_IN_TIP} more`));
  return dom;
}

const hovering = hoverTooltip((view, at, side) => {
  const state = view.state.field(under);
  const found = factsAt(state, at, side);
  if (!found.length || state.tip?.facts[0] === found[0].fact) return null;
  if (state.tip) view.dispatch({effects: hideTip.of(null)}); // one at a time
  return {pos: found[0].from, end: found[0].to, above: true, create: () => ({dom: tooltip(found.map(({fact}) => fact), state.facts)})};
}, {hoverTime: 120, hideOnChange: true});

/** Put the cursor on the next mark, or with -1 on the previous one. */
function step(view, by, onStep) {
  const marks = [];
  view.state.field(under).set.between(0, view.state.doc.length, (from, _, {spec: {fact}}) => void marks.push({from, fact}));
  const {head} = view.state.selection.main;
  const next = by > 0 ? marks.find(({from}) => from > head) ?? marks[0] : marks.findLast(({from}) => from < head) ?? marks.at(-1);
  if (!next) return false;
  view.dispatch({selection: {anchor: next.from}, effects: EditorView.scrollIntoView(next.from, {y: "center"}), userEvent: "select"});
  onStep?.(next.fact);
  return true;
}

/**
 * A reply with its marks: `value`; `drawn` (`{text, marks, facts}` of a verdict: its marks are drawn if it is about this text); `chosen` (the index of a fact) and
 * `onChoose(index)`; `until` (characters that have arrived; the rest is dimmed); `hide` (no marks). All other properties go to the editor. F8 goes to the next mark and calls `onStep(index)`.
 */
export function Marked({value, drawn, chosen = null, onChoose, onStep, until = null, hide = false, onView, ...rest}) {
  const view = useRef(null);
  const told = useRef({});
  const announced = useSignal("");
  told.current = {onChoose, onStep};
  const extensions = useMemo(() => [
    under, later, hovering,
    Prec.high(keymap.of([{key: "F8", run: (each) => step(each, 1, told.current.onStep), shift: (each) => step(each, -1, told.current.onStep)}])),
    EditorView.domEventHandlers({
      click(event) {
        const mark = event.target.closest?.("[data-fact]");
        if (mark) told.current.onChoose?.(Number(mark.dataset.fact));
      },
    }),
    EditorView.updateListener.of(({state, startState}) => {
      const {tip, facts} = state.field(under);
      if (tip === startState.field(under, false)?.tip) return;
      announced.value = tip ? tip.facts.slice(0, MOST_IN_TIP).map((fact) => `${facts[fact].code} ${summary(facts[fact])}`).join(". ") : "";
    }),
  ], []);
  useEffect(() => {
    if (!view.current) return;
    const fits = drawn && !hide && drawn.text.length === view.current.state.doc.length && drawn.text === value;
    if (!fits && drawn && !hide) return; // the old marks move with the edits until the new ones arrive
    view.current.dispatch({effects: setMarks.of(fits ? {marks: drawn.marks, facts: drawn.facts} : {marks: [], facts: []})});
  }, [drawn, value, hide]);
  useEffect(() => {
    if (!view.current) return;
    const mark = chosen === null || hide ? undefined : drawn?.marks.find(([, , fact]) => fact === chosen);
    const effects = [setChosen.of(chosen)];
    if (mark && mark[0] <= view.current.state.doc.length && !inView(view.current, mark[0])) effects.push(EditorView.scrollIntoView(mark[0], {y: "center"}));
    view.current.dispatch({effects});
  }, [chosen, drawn, hide]);
  useEffect(() => {
    if (!view.current) return;
    const effects = [setUntil.of(until)];
    if (until !== null && until <= view.current.state.doc.length && isShown(view.current)) effects.push(EditorView.scrollIntoView(until, {y: "nearest"}));
    view.current.dispatch({effects});
  }, [until, value]);
  const keep = (made) => {
    view.current = made;
    onView?.(made);
  };
  return html`<${Editor} ...${rest} value=${value} extensions=${extensions} onView=${keep} class=${`marked ${rest.class ?? ""}`} />
    <p class="hidden" aria-live="polite">${announced.value}</p>`;
}

/** Whether the text is on the screen: on a narrow screen, do not scroll away from the value that is arriving. */
function isShown({scrollDOM}) {
  const {top, bottom} = scrollDOM.getBoundingClientRect();
  return bottom > 100 && top < innerHeight;
}

function inView(view, at) {
  const where = view.coordsAtPos(at);
  const box = view.scrollDOM.getBoundingClientRect();
  return where && where.top >= box.top && where.bottom <= box.bottom;
}
