// Codes over time: the findings of a contract, by day or by hour, and in total.
import {Chart} from "../lib/chart.js";
import {html} from "../lib/html.js";
import {useLoaded, Waiting} from "../lib/load.js";
import {Code, Panel} from "../lib/parts.js";
import {link, query, refine} from "../lib/place.js";
import {number, percent, when} from "../lib/words.js";

const TIMES = [["1d", "24 hours", "hour"], ["7d", "7 days", "hour"], ["30d", "30 days", "day"], ["90d", "90 days", "day"], ["365d", "a year", "day"]];
const SHOWN = 7; // series; the rest are one
const sum = (values) => values.reduce((all, each) => all + each, 0);

export function Codes({name}) {
  const since = TIMES.find(([id]) => id === query.value.get("over")) ?? TIMES[2];
  const {data, failure, busy} = useLoaded("/contracts/codes", {name, since: since[0], by: since[2]});
  const aside = html`<select aria-label="Time" value=${since[0]} onChange=${(event) => refine({over: event.currentTarget.value === "30d" ? "" : event.currentTarget.value})}>
    ${TIMES.map(([id, title]) => html`<option key=${id} value=${id}>Last ${title}</option>`)}</select>`;
  const series = data?.series ?? [];
  const judged = sum(data?.judged ?? []);
  if (!judged) return html`<${Panel} title="Codes over time" aside=${aside}><${Waiting} failure=${failure} busy=${busy && !data} empty>
    <p>This contract judged no reply in this time.</p><p class="soft">Choose a longer time.</p><//><//>`;
  const step = since[2] === "hour" ? 3600 : 86_400;
  const outcomes = [
    {title: "accepted", colour: "ok", values: data.judged.map((n, at) => n - data.refused[at])},
    {title: "refused", colour: "bad", hatched: true, values: data.refused},
  ];
  const drawn = series.slice(0, SHOWN).map((each) => ({title: `${each.code} ${each.title}`, values: each.counts}));
  const others = series.slice(SHOWN);
  if (others.length) drawn.push({title: `${others.length} others`, colour: "soft", values: data.times.map((_, at) => sum(others.map((each) => each.counts[at])))});
  return html`<div class="stacked scroll">
    <div class="columns two charts">
      <${Panel} title="Replies with errors, by code" class="charted" aside=${aside}><div class="pad">${series.length ? html`<${Chart} title="Replies with errors, by code" times=${data.times} step=${step} series=${drawn} height=${220} />` : html`<p class="soft">Nothing was found in this time.</p>`}</div><//>
      <${Panel} title="Replies judged" class="charted" aside=${`${percent(sum(data.refused) / judged)} refused`}><div class="pad"><${Chart} title="Replies judged" times=${data.times} step=${step} series=${outcomes} height=${220} /></div><//>
    </div>
    ${!data.complete && html`<p class="soft">Counted back to ${when(data.reached)}; older verdicts are left out.</p>`}
    ${series.length > 0 && html`<${Panel} title="Codes" class="charted"><div class="scroll"><table>
      <thead><tr><th>Code</th><th>What it finds</th><th class="n">Replies</th><th class="n">Of all replies</th></tr></thead>
      <tbody>${series.map((each) => html`<tr key=${each.code}>
        <td><a href=${link("verdicts", {contract: name, code: each.code})}><${Code}>${each.code}<//></a></td><td>${each.title}</td>
        <td class="n">${number(each.total)}</td><td class="n">${percent(each.total / judged)}</td></tr>`)}</tbody>
    </table></div><//>`}
  </div>`;
}
