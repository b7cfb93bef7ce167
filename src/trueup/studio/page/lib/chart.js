// Charts: numbers over time as stacked bars, or as lines. uPlot draws; the legend, the keys and the table of numbers are here.
//
//   <${Chart} title="Requests" kind="bars" times=${[1763…]} step=${60} series=${[{title: "accepted", colour: "ok", values: [3, 4]}]} />
//
// `times` are seconds since 1970, one for each value; `step` is how many seconds a value covers. A value of null is a gap. Bars are stacked
// in the order of the series. `colour` is ok, warn, bad or soft; without it, the series gets the next neutral colour. `hatched` draws
// stripes, so that colour is not the only sign of a refusal. `format` writes a value. Until the user points at a bar, the legend shows
// sums. `onPick(time, step)` opens an interval, by a click or by Enter.
import {uPlot, useEffect, useLayoutEffect, useRef, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {clock as seconds, day, number, short} from "./words.js";

const NEUTRAL = 8; // neutral colours: --series-1 to --series-8
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const dark = matchMedia("(prefers-color-scheme: dark)");

const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit"});
const dated = (time) => new Date(time * 1000);
const isMidnight = (date) => !date.getHours() && !date.getMinutes();

/** An interval of time in words: `14:03–14:04`, `3 Nov 14:00–15:00`, `3 Nov`. */
export function stretch(time, step) {
  const from = dated(time);
  if (step >= 86_400) return step === 86_400 ? day.format(from) : `${day.format(from)} – ${day.format(dated(time + step - 1))}`;
  const hands = step < 60 ? seconds : clock;
  const today = from.toDateString() === new Date().toDateString() ? "" : `${day.format(from)} `;
  return `${today}${hands.format(from)}–${hands.format(dated(time + step))}`;
}

const ticks = (_, splits, __, ___, gap) => splits.map((time) => (gap >= 86_400 || isMidnight(dated(time)) ? day : gap < 60 ? seconds : clock).format(dated(time)));
const named = (each, at) => (each.colour ? `series-${each.colour}` : `series-${(at % NEUTRAL) + 1}`);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The data for uPlot. Bars have their full heights, so that the scale fits; `stack` draws their parts. */
function heights(kind, times, series) {
  if (kind !== "bars") return [times, ...series.map((each) => each.values)];
  return [times, times.map((_, at) => sumOf(series.map((each) => each.values[at])))];
}

/** Draw bars in whole pixels, each part on top of the previous one. */
function stack(plot, {times, step, series}, fills) {
  const place = (value) => Math.round(plot.valToPos(value, "y", true));
  const across = (time) => Math.round(plot.valToPos(time, "x", true));
  const {ctx: pen} = plot;
  pen.save();
  times.forEach((time, at) => {
    const left = across(time);
    const space = across(time + step) - left;
    const gap = space > 3 ? Math.max(1, Math.round(space * 0.14)) : 0;
    const width = Math.min(space - gap, 40 * devicePixelRatio);
    let sum = 0;
    series.forEach((each, n) => {
      if (!each.values[at]) return;
      const bottom = place(sum);
      sum += each.values[at];
      pen.fillStyle = fills[n];
      pen.fillRect(left, place(sum), Math.max(1, width), Math.max(1, bottom - place(sum)));
    });
  });
  pen.restore();
}

function stripes(colour) {
  const tile = document.createElement("canvas");
  const size = (tile.width = tile.height = 6 * devicePixelRatio);
  const pen = tile.getContext("2d");
  pen.fillStyle = colour;
  pen.globalAlpha = 0.35;
  pen.fillRect(0, 0, size, size);
  pen.globalAlpha = 1;
  pen.strokeStyle = colour;
  pen.lineWidth = size / 3;
  for (const x of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(x - 1, size + 1);
    pen.lineTo(x + size + 1, -1);
    pen.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

const lines = (series) => series.map((each, at) => ({stroke: css(named(each, at)), width: 1.75, dash: DASHES[at % DASHES.length], spanGaps: false, points: {size: 4}}));

function options(kind, series, size, shown, hear) {
  const axis = {stroke: css("soft"), font: `11px ${css("sans")}`, grid: {stroke: css("line"), width: 1}, ticks: {show: false}};
  const at = (plot, _, nearest, x) => {
    if (kind !== "bars") return nearest;
    const {times, step} = shown();
    const found = Math.floor((x - times[0]) / step);
    return Math.max(0, Math.min(times.length - 1, found));
  };
  const fills = series.map((each, at) => (each.hatched ? stripes : String)(css(named(each, at))));
  return {
    ...size,
    padding: [8, 16, 0, 0], // half of the last interval
    legend: {show: false},
    cursor: {y: false, drag: {x: false, y: false}, dataIdx: at, points: {show: kind !== "bars"}},
    scales: {
      x: {time: true, range: () => [shown().times[0] ?? 0, (shown().times.at(-1) ?? 0) + (kind === "bars" ? shown().step : 0)]},
      y: {range: (_, low, high) => uPlot.rangeNum(0, high || 1, {min: {pad: 0, soft: 0, mode: 1}, max: {pad: 0.08, soft: 0, mode: 0}})},
    },
    axes: [
      {...axis, values: ticks, size: 28, space: 64, grid: {show: false}},
      {...axis, values: (_, splits) => splits.map((value) => shown().tick(value)), size: (_, words) => 14 + 6.5 * Math.max(2, ...(words ?? []).map((word) => word.length)), space: 32, incrs: kind === "bars" ? WHOLE : undefined},
    ],
    series: [{}, ...(kind === "bars" ? [{paths: () => null, points: {show: false}}] : lines(series))],
    hooks: {
      draw: kind === "bars" ? [(plot) => stack(plot, shown(), fills)] : [],
      setCursor: [(plot) => hear(plot.cursor.left < 0 ? null : plot.cursor.idx)],
    },
  };
}
const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({length: 12}, (_, zeros) => digit * 10 ** zeros)).sort((a, b) => a - b);

const sumOf = (values) => values.reduce((sum, value) => sum + (value ?? 0), 0);

function Legend({series, at, format, time, kind}) {
  return html`<ul class="legend">
    ${series.map((each, n) => {
      const value = at !== null ? each.values[at] : kind === "bars" ? sumOf(each.values) : undefined;
      return html`<li key=${each.title}><span class=${`swatch ${kind}${each.hatched ? " hatched" : ""} dash-${n % DASHES.length}`} style=${{"--colour": `var(--${named(each, n)})`}}></span>${each.title}${value !== undefined && html` <b class="num">${format(value)}</b>`}</li>`;
    })}
    ${time && html`<li class="time num">${time}</li>`}
  </ul>`;
}

function Numbers({times, step, series, format, title}) {
  const open = useSignal(false);
  return html`<details class="numbers" onToggle=${(event) => (open.value = event.currentTarget.open)}>
    <summary>Numbers<span class="hidden"> for ${title}</span></summary>
    ${open.value && html`<div class="scroll" tabindex="0" role="region" aria-label=${`Numbers for ${title}`}><table>
      <thead><tr><th scope="col">Time</th>${series.map((each) => html`<th scope="col" class="n" key=${each.title}>${each.title}</th>`)}</tr></thead>
      <tbody>${times.map((time, at) => ({time, at})).reverse().map(({time, at}) => html`<tr key=${time}><th scope="row" class="num">${stretch(time, step)}</th>${series.map((each) => html`<td class="n" key=${each.title}>${format(each.values[at])}</td>`)}</tr>`)}</tbody>
    </table></div>`}
  </details>`;
}

export function Chart({title, kind = "bars", times, step, series, format = number, tick = short, height = 170, onPick = null}) {
  const box = useRef();
  const plot = useRef(null);
  const said = useSignal("");
  const at = useSignal(null);
  const now = useRef();
  now.current = {times, step, series, tick, onPick};
  const look = `${kind} ${height} ${series.map((each, n) => `${named(each, n)}${each.hatched ? "/" : ""}`).join(" ")}`;

  const make = () => {
    plot.current?.destroy();
    const size = {width: Math.max(120, box.current.clientWidth), height};
    plot.current = new uPlot(options(kind, now.current.series, size, () => now.current, (index) => (at.value = index)), heights(kind, now.current.times, now.current.series), box.current);
  };
  useLayoutEffect(() => {
    make();
    const fit = new ResizeObserver(() => box.current && plot.current?.setSize({width: Math.max(120, box.current.clientWidth), height}));
    fit.observe(box.current);
    dark.addEventListener("change", make);
    return () => {
      fit.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [look]);
  useEffect(() => plot.current?.setData(heights(kind, times, series)), [times, series]);

  const shown = at.value !== null && at.value < times.length ? at.value : null;
  const point = (index) => {
    const {times, step, series} = now.current;
    const found = Math.max(0, Math.min(times.length - 1, index));
    at.value = found;
    plot.current.setCursor({left: plot.current.valToPos(times[found] + (kind === "bars" ? step / 2 : 0), "x"), top: 1}, false);
    said.value = `${stretch(times[found], step)}: ${series.map((each) => `${each.title} ${format(each.values[found])}`).join(", ")}`;
  };
  const keys = (event) => {
    const from = shown ?? times.length;
    const to = {ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: times.length - 1}[event.key];
    if (event.key === "Enter" && shown !== null && onPick) onPick(times[shown], step);
    else if (to === undefined || !times.length || event.ctrlKey || event.altKey || event.metaKey) return;
    else point(to);
    event.preventDefault();
  };
  const leave = () => {
    at.value = null;
    plot.current?.setCursor({left: -10, top: -10}, false);
  };
  return html`<figure class="chart">
    <div class=${`plot${onPick ? " picks" : ""}`} ref=${box} role="group" tabindex="0" onKeyDown=${keys} onBlur=${leave}
      onClick=${() => shown !== null && onPick?.(times[shown], step)}
      aria-label=${`${title}, a chart. Left and right read its values${onPick ? ", Enter opens them" : ""}.`}></div>
    <${Legend} series=${series} at=${shown} format=${format} kind=${kind} time=${shown !== null ? stretch(times[shown], step) : ""} />
    <p class="hidden" aria-live="polite">${said.value}</p>
    <${Numbers} times=${times} step=${step} series=${series} format=${format} title=${title} />
  </figure>`;
}
