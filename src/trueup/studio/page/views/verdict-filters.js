// The filters of Verdicts: a chip for each facet with its values and counts, a time range with a small histogram, and a text search. All filters are in the URL.
import {useEffect, useLayoutEffect, useRef, useSignal} from "../vendor.js";
import {html} from "../lib/html.js";
import {get} from "../lib/api.js";
import {refine} from "../lib/place.js";
import {lasted, number} from "../lib/words.js";
import {filters} from "./verdicts-state.js";

const FACETS = [["contract", "Contract"], ["model", "Model"], ["code", "Code"], ["rule", "Rule"], ["state", "State"], ["tenant", "Tenant"], ["outcome", "Outcome"], ["label", "Label"]];
const SPANS = [["", "Any time"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"]];
const MOST_SHOWN = 40;
const met = new Set(); // facets that have values in this store
const TYPING = 250; // milliseconds after the last key until a search begins

export const counted = ({count, capped}) => (capped && !count ? "" : `${number(count)}${capped ? "+" : ""}`);
const change = (changes) => refine({...changes, open: ""}, {replace: false});

/** A button with a panel below it. Escape, a click elsewhere or losing the focus closes it. */
function Menu({title, value, onClear, label, children}) {
  const isOpen = useSignal(false);
  const box = useRef();
  const panel = useRef();
  const close = (isBack) => {
    isOpen.value = false;
    if (isBack) box.current.querySelector("button").focus();
  };
  useEffect(() => {
    if (!isOpen.value) return undefined;
    const leave = (event) => !box.current?.contains(event.target) && close(false);
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [isOpen.value]);
  useLayoutEffect(() => {
    if (!isOpen.value) return;
    const {left, width} = panel.current.getBoundingClientRect();
    const over = left + width + 8 - box.current.closest(".panel").getBoundingClientRect().right;
    if (over > 0) panel.current.style.marginLeft = `${-over}px`;
    panel.current.querySelector("input, button")?.focus();
  }, [isOpen.value]);
  const onKeyDown = (event) => {
    if (event.key === "Escape" && isOpen.value) {
      event.preventDefault();
      event.stopPropagation();
      close(true);
    }
  };
  return html`<div class=${`menu ${value ? "on" : ""}`} ref=${box} onKeyDown=${onKeyDown} onFocusOut=${(event) => event.relatedTarget && !box.current.contains(event.relatedTarget) && close(false)}>
    <button type="button" aria-haspopup="dialog" aria-expanded=${isOpen.value} onClick=${() => (isOpen.value = !isOpen.value)}>${title}${value && html` <b><bdi>${value}</bdi></b>`}</button>${value && html`<button type="button" class="clear" aria-label=${`Remove the filter for ${title.toLowerCase()}`} onClick=${onClear}>×</button>`}
    ${isOpen.value && html`<div class="drop" role="dialog" aria-label=${label} ref=${panel}>${children(close)}</div>`}
  </div>`;
}

/** Arrow keys move among the buttons of a list. */
function move(event) {
  const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const stops = [...event.currentTarget.querySelectorAll("input, li button")];
  stops[Math.max(0, Math.min(stops.indexOf(document.activeElement) + by, stops.length - 1))]?.focus();
}

function Values({facet, title, values, close}) {
  const typed = useSignal("");
  const found = useSignal(null);
  useEffect(() => {
    const abort = new AbortController();
    if (!typed.value) {
      found.value = null;
      return undefined;
    }
    get("/verdicts/values", {facet, begins: typed.value}, abort.signal).then(({values: more}) => (found.value = more), () => {});
    return () => abort.abort();
  }, [typed.value]);
  const current = filters.value[facet];
  const wanted = typed.value.toLowerCase();
  const fitting = values.filter(({value}) => value.toLowerCase().includes(wanted));
  const others = (found.value ?? []).filter((value) => !values.some((each) => each.value === value)).map((value) => ({value, count: 0, capped: true}));
  const shown = [...fitting, ...others].slice(0, MOST_SHOWN);
  const most = Math.max(1, ...values.map(({count}) => count));
  const choose = (value) => {
    close(true);
    change({[facet]: value === current ? "" : value, ...(facet === "label" ? {labelled: ""} : {})});
  };
  return html`<div onKeyDown=${move}>
    <input type="search" aria-label=${`Find a ${title.toLowerCase()}`} placeholder=${`Find a ${title.toLowerCase()}`} value=${typed.value} onInput=${(event) => (typed.value = event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && (shown.length || typed.value) && choose(shown[0]?.value ?? typed.value)} />
    <ul>
      ${facet === "label" && !typed.value && [["false", "not labelled"], ["true", "labelled"]].map(([value, word]) => html`<li key=${value}><button type="button" aria-pressed=${filters.value.labelled === value}
        onClick=${() => (close(true), change({labelled: filters.value.labelled === value ? "" : value, label: ""}))}><i>${word}</i></button></li>`)}
      ${shown.map((each) => html`<li key=${each.value}><button type="button" aria-pressed=${each.value === current} title=${each.value} onClick=${() => choose(each.value)}>
        <bdi>${each.value}</bdi><span class="num soft">${counted(each)}</span><span class="share" style=${{width: `${(each.count / most) * 100}%`}}></span></button></li>`)}
    </ul>
    ${!shown.length && html`<p class="soft">${typed.value ? "No value starts with this text." : "These verdicts have no value for it."}</p>`}
    ${fitting.length > MOST_SHOWN && html`<p class="soft">Type to find more.</p>`}
  </div>`;
}

const local = (seconds) => {
  if (!seconds) return "";
  const date = new Date(seconds * 1000);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};
const isAbsolute = (value) => /^\d{6,}(\.\d+)?$/.test(value ?? "");
const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"});
const said = (value) => (isAbsolute(value) ? day.format(new Date(value * 1000)) : value);

function timeWords() {
  const {since, until} = filters.value;
  if (!since && !until) return "";
  const known = SPANS.find(([span]) => span && span === since);
  if (known && !until) return known[1].toLowerCase();
  return [since && `from ${said(since)}`, until && `until ${said(until)}`].filter(Boolean).join(" ");
}

function Times({close}) {
  const {since, until} = filters.value;
  const from = useRef();
  const to = useRef();
  const apply = (event) => {
    event.preventDefault();
    const seconds = (input) => (input.value ? new Date(input.value).getTime() / 1000 : "");
    close(true);
    change({since: seconds(from.current), until: seconds(to.current)});
  };
  return html`<div onKeyDown=${move}>
    <ul>${SPANS.map(([span, title]) => html`<li key=${span}><button type="button" aria-pressed=${(since ?? "") === span && !until} onClick=${() => (close(true), change({since: span, until: ""}))}>${title}</button></li>`)}</ul>
    <form onSubmit=${apply}>
      <label>From <input type="datetime-local" ref=${from} defaultValue=${isAbsolute(since) ? local(since) : ""} /></label>
      <label>Until <input type="datetime-local" ref=${to} defaultValue=${isAbsolute(until) ? local(until) : ""} /></label>
      <button class="main">Show this range</button>
    </form>
  </div>`;
}

const STATES = [["", "All"], ["true", "Accepted"], ["false", "Refused"]];

export function Filters({counts, search}) {
  const {text = "", ok = ""} = filters.value;
  const facets = counts?.facets ?? {};
  const typed = useSignal(null); // text that is not in the URL yet: an answer in the meantime must not restore the old text
  const look = () => {
    if (typed.value !== null) refine({text: typed.value, open: ""});
    typed.value = null;
  };
  useEffect(() => {
    const timer = setTimeout(look, TYPING);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const share = Object.fromEntries((facets.ok ?? []).map((each) => [each.value, counted(each)]));
  return html`<div class="filters" role="search" aria-label="Filters">
    <input type="search" class="words" ref=${search} aria-label="Words in the reply" placeholder="Words in the reply  /" value=${typed.value ?? text} onInput=${(event) => (typed.value = event.target.value)}
      onKeyDown=${(event) => (event.key === "Enter" ? look() : event.key === "Escape" && event.target.blur())} />
    <div class="choice" role="group" aria-label="Verdict">${STATES.map(([value, title]) => html`<button type="button" key=${value} aria-pressed=${ok === value} onClick=${() => change({ok: value})}>${title}${share[value] && html` <span class="num soft">${share[value]}</span>`}</button>`)}</div>
    <${Menu} title="Time" label="Time range" value=${timeWords()} onClear=${() => change({since: "", until: ""})}>${(close) => html`<${Times} close=${close} />`}<//>
    ${FACETS.map(([facet, title]) => {
      const values = facets[facet] ?? [];
      const value = filters.value[facet] ?? (facet === "label" && filters.value.labelled ? (filters.value.labelled === "true" ? "labelled" : "not labelled") : "");
      if (values.length) met.add(facet);
      if (!met.has(facet) && !value && facet !== "label") return null;
      return html`<${Menu} key=${facet} title=${title} label=${`Filter by ${title.toLowerCase()}`} value=${value} onClear=${() => change({[facet]: "", ...(facet === "label" ? {labelled: ""} : {})})}>
        ${(close) => html`<${Values} facet=${facet} title=${title} values=${values} close=${close} />`}<//>`;
    })}
    ${["fingerprint", "conversation"].filter((name) => filters.value[name]).map((name) => html`<${Menu} key=${name} title=${name === "fingerprint" ? "Version" : "Conversation"} label=${name} value=${filters.value[name]} onClear=${() => change({[name]: ""})}>
      ${() => html`<p class="soft mono">${filters.value[name]}</p>`}<//>`)}
  </div>`;
}

/** Judged and refused replies over time, for the filters that hourly counts support; dragging selects a range. */
export function Histogram() {
  const hours = useSignal(null);
  const drag = useSignal(null);
  const {since, until, model, contract, ok} = filters.value;
  const others = Object.keys(filters.value).some((name) => !["since", "until", "model", "contract", "ok"].includes(name));
  useEffect(() => {
    const abort = new AbortController();
    if (others) hours.value = null;
    else get("/verdicts/times", {since, until, model, contract, ok}, abort.signal).then((found) => (hours.value = found.hours), () => (hours.value = null));
    return () => abort.abort();
  }, [since, until, model, contract, ok, others]);
  const given = hours.value;
  if (!given || given.length < 2) return null;
  const first = given[0][0];
  const last = given.at(-1)[0] + 3600;
  const bars = Math.min(120, Math.round((last - first) / 3600));
  const step = (last - first) / bars;
  const sums = Array.from({length: bars}, () => [0, 0]);
  for (const [at, judged, refused] of given) {
    const bar = sums[Math.min(bars - 1, Math.floor((at - first) / step))];
    bar[0] += judged;
    bar[1] += refused;
  }
  const most = Math.max(...sums.map(([judged]) => judged));
  const path = (index) => sums.map((counts, at) => {
    const tall = Math.max(index ? 1 : 3, (counts[index] / most) * 30); // a few refusals must not hide the accepted replies
    return counts[index] ? `M${at + 0.1} 30v${-tall}h.8v${tall}z` : "";
  }).join("");
  const barAt = (event) => {
    const {left, width} = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(bars - 1, Math.floor(((event.clientX - left) / width) * bars)));
  };
  const end = (event) => {
    if (!drag.value) return;
    const [one, other] = [drag.value[0], barAt(event)].sort((a, b) => a - b);
    drag.value = null;
    change({since: Math.round(first + one * step), until: Math.round(first + (other + 1) * step)});
  };
  const [from, to] = drag.value ? [...drag.value].sort((a, b) => a - b) : [0, -1];
  return html`<div class="histogram">
    <svg viewBox=${`0 0 ${bars} 30`} preserveAspectRatio="none" role="img" aria-label=${`Judged and refused replies over time, from ${day.format(first * 1000)} to ${day.format(last * 1000)}`}
      onPointerDown=${(event) => ((drag.value = [barAt(event), barAt(event)]), event.currentTarget.setPointerCapture(event.pointerId))} onPointerMove=${(event) => drag.value && (drag.value = [drag.value[0], barAt(event)])}
      onPointerUp=${end} onPointerCancel=${() => (drag.value = null)}>
      ${to >= from && html`<rect x=${from} y="0" width=${to - from + 1} height="30" />`}
      <path class="judged" d=${path(0)} /><path class="refused" d=${path(1)} />
    </svg>
    <span class="soft num">${day.format(first * 1000)}</span><span class="soft num" title="Counted per hour at the time of judging; includes expired verdicts">${ok ? "" : "refused in red, "}a bar is ${lasted(step)}</span><span class="soft num">${day.format(last * 1000)}</span>
  </div>`;
}
