// Precision: the share of each code's and rule's refusals that people find right, with an interval for so few labels.
import {may} from "../lib/about.js";
import {html} from "../lib/html.js";
import {useLoaded, Waiting} from "../lib/load.js";
import {Code, Panel} from "../lib/parts.js";
import {link} from "../lib/place.js";
import {count, number} from "../lib/words.js";

/** A share with its interval, as a bar from 0 to 1 and in words. */
export function Interval({value, low, high}) {
  if (value == null) return html`<span class="soft">no labels</span>`;
  const words = `${Math.round(value * 100)} %, from ${Math.round(low * 100)} to ${Math.round(high * 100)} %`;
  return html`<span class="interval"><span class="track" aria-hidden="true"><i style=${{left: `${low * 100}%`, right: `${100 - high * 100}%`}}></i><b style=${{left: `${value * 100}%`}}></b></span>
    <span class="num" title=${`95 % interval: ${words}`}>${Math.round(value * 100)} % <span class="soft">${Math.round(low * 100)}–${Math.round(high * 100)}</span></span></span>`;
}

export function Precision({name, file}) {
  const {data, failure, busy} = useLoaded("/contracts/precision", {name});
  const rows = data?.rows ?? [];
  const labelled = data?.labelled ?? 0;
  const queue = (row) => link("verdicts", {queue: 1, contract: name, ...(row.rule ? {rule: row.rule} : {code: row.code})});
  if (!rows.length) return html`<${Panel} title="Precision"><${Waiting} failure=${failure} busy=${busy && !data} empty>
    <p>This contract has not refused anything yet, so there is no precision to measure.</p><//><//>`;
  return html`<${Panel} title="Precision of refusals" class="precision" aside=${labelled ? "share of refusals that people find right, with a 95 % interval" : "no labels yet"}
    foot=${html`<span>${count(labelled, "verdict")} labelled${data.complete ? "" : " · not all could be read in time"}</span>${file && html`<a href=${link("tune", {file})}>Suggest changes from these labels</a>`}`}>
    ${!labelled && html`<p class="banner">Nobody has said yet whether these refusals are right. Label some in <a href=${link("verdicts", {queue: 1, contract: name})}>Verdicts</a>, one key each, or in a terminal: <code>trueup label STORE --judged-by ${name}</code></p>`}
    <div class="scroll"><table>
      <thead><tr><th>Rule or code</th><th class="n">Fired</th><th class="n">Labelled</th><th class="n">Right</th><th>Precision</th><th><span class="hidden">Action</span></th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${`${row.code} ${row.rule}`}>
        <td><a href=${link("verdicts", {contract: name, ...(row.rule ? {rule: row.rule} : {code: row.code})})}><${Code}>${row.rule || row.code}<//></a> ${row.title && html`<span class="soft">${row.title}</span>`}</td>
        <td class="n">${number(row.fired)}${row.capped ? "+" : ""}</td><td class="n">${number(row.labelled)}</td><td class="n">${row.labelled ? number(row.right) : "–"}</td>
        <td><${Interval} value=${row.precision} low=${row.low} high=${row.high} /></td>
        <td class="n">${may("label") && row.labelled < row.needed && row.fired > row.labelled && html`<a class="nowrap" href=${queue(row)}>Label</a>`}</td></tr>`)}</tbody>
    </table></div>
  <//>`;
}
