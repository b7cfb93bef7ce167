// A table of any length: only the rows in view are in the page. All rows have the same height, so a position is a multiplication.
import {useEffect, useLayoutEffect, useRef, useSignal} from "../vendor.js";
import {html} from "./html.js";

const AROUND = 1; // rows drawn above and below those in view
const MOST_PIXELS = 30_000_000; // browsers draw nothing below this
const NEAR = 40; // rows before the end at which more are requested

const headOf = (box) => box.querySelector(".th").offsetHeight;

/**
 * `columns`: `[[id, title], …]`; `rows`: those that are known; `cells(row)`: one content for each column; `keyOf(row)`. `at` is the row under the cursor, -1 for none;
 * `onOpen(index)` when a row is clicked. `onWidth(pixels)` reports the width of the table. `onEnd()` asks for more rows; `end` is shown below the last one.
 * `kindOf(row)` gives the classes of a row: a cell gets its style without an extra element. `memory` is an object that keeps the position between two visits. `label` names the table, `count` is the number of all rows if known.
 */
export function Table({columns, rows, cells, keyOf, at, onOpen, onEnd, onWidth, end, memory, label, height = 30, count = -1, kindOf = () => ""}) {
  const scroller = useRef();
  const view = useSignal({first: 0, last: 40});
  const look = () => {
    const {scrollTop, clientHeight} = scroller.current;
    const head = headOf(scroller.current);
    const first = Math.max(0, Math.floor(scrollTop / height) - AROUND);
    const last = Math.ceil((scrollTop + clientHeight - head) / height) + AROUND;
    memory.top = scrollTop;
    if (first !== view.value.first || last !== view.value.last) view.value = {first, last};
  };
  useLayoutEffect(() => {
    scroller.current.scrollTop = memory.top ?? 0;
    const watch = new ResizeObserver(([{contentRect}]) => {
      onWidth?.(contentRect.width);
      look();
    });
    watch.observe(scroller.current);
    return () => watch.disconnect();
  }, [memory]);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (at < 0 || at === memory.at) return;
    memory.at = at;
    // A focused button, such as a filter's, would take the Enter that opens this row.
    if (document.activeElement.closest("button, a, summary")) box.querySelector("[role=grid]").focus({preventScroll: true});
    const room = box.clientHeight - headOf(box);
    if (at * height < box.scrollTop) box.scrollTop = at * height;
    else if ((at + 1) * height > box.scrollTop + room) box.scrollTop = (at + 1) * height - room;
    look();
  }, [at]);
  const {first, last} = view.value;
  useEffect(() => {
    if (last + NEAR > rows.length) onEnd?.();
  }, [last, rows.length]);
  const shown = rows.slice(first, last);
  return html`<div class="grid scroll" ref=${scroller} onScroll=${look}>
    <div role="grid" tabindex="0" aria-label=${label} aria-rowcount=${count < 0 ? -1 : count + 1} aria-activedescendant=${at >= first && at < last && shown[at - first] ? `row-${at}` : undefined}>
      <div class="tr th" role="row" aria-rowindex="1">${columns.map(([id, title]) => html`<div key=${id} class=${id} role="columnheader">${title}</div>`)}</div>
      <div class="rows" role="presentation" style=${{height: `${Math.min(rows.length * height, MOST_PIXELS)}px`, paddingTop: `${first * height}px`}}>
        ${shown.map((row, index) => {
          const place = first + index;
          const drawn = cells(row);
          return html`<div key=${keyOf(row)} id=${`row-${place}`} class=${`tr ${place === at ? "at" : ""} ${kindOf(row)}`} role="row" aria-rowindex=${place + 2} aria-selected=${place === at} style=${{height: `${height}px`}}
            onClick=${(event) => !event.target.closest("a, button") && onOpen(place)}>
            ${columns.map(([id], column) => html`<div key=${id} class=${id} role="gridcell" dir="auto">${drawn[column]}</div>`)}
          </div>`;
        })}
      </div>
    </div>
    ${end}
  </div>`;
}
