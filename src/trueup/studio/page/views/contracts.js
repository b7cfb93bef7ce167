// Contracts: the contract files in the studio's folders, with figures from the store. One contract has its own view.
import {useRef, useSignal} from "../vendor.js";
import {about} from "../lib/about.js";
import {html} from "../lib/html.js";
import {useKeys} from "../lib/keys.js";
import {useLoaded, Waiting} from "../lib/load.js";
import {Panel, Tag} from "../lib/parts.js";
import {go, link, query, refine, steps} from "../lib/place.js";
import {count, exactly, number, percent, when} from "../lib/words.js";
import {Contract, Stored} from "./contract.js";
import {draft} from "./contract-drafts.js";
import {contractLink} from "./contract-head.js";

export function Contracts() {
  const file = steps.value.slice(1).join("/");
  const stored = query.value.get("stored");
  if (file) return html`<${Contract} key=${file} file=${file} />`;
  return stored ? html`<${Stored} key=${stored} name=${stored} />` : html`<${List} />`;
}

const addressOf = (row) => (row.file ? contractLink(row.file) : link("contracts", {stored: row.name}));
const fits = (row, text) => `${row.name} ${row.title ?? ""} ${row.file ?? ""}`.toLowerCase().includes(text.toLowerCase());

function List() {
  const {data, failure, busy} = useLoaded("/contracts");
  const at = useSignal(-1); // the row under the cursor
  const table = useRef();
  const text = query.value.get("text") ?? "";
  const files = (data?.files ?? []).filter((row) => fits(row, text));
  const others = (data?.stored ?? []).filter((row) => fits(row, text));
  const rows = [...files, ...others];
  const place = Math.min(at.value, rows.length - 1);
  const move = (step) => {
    at.value = Math.max(0, Math.min(rows.length - 1, at.peek() + step));
    table.current?.querySelectorAll("tbody a.row")[at.value]?.focus();
  };
  useKeys({j: ["next contract", () => move(1)], k: ["previous contract", () => move(-1)], Enter: ["open the contract", () => go(addressOf(rows[Math.max(0, place)]))], "/": ["filter by name", () => document.getElementById("contracts-filter").focus()]}, rows.length > 0);
  const known = data && data.files.length + data.stored.length > 0;
  const aside = known && html`<input id="contracts-filter" type="search" placeholder="Filter" aria-label="Filter contracts by name" value=${text} onInput=${(event) => refine({text: event.currentTarget.value})} />`;
  if (!known) return html`<${Panel} title="Contracts"><${Waiting} failure=${failure} busy=${busy && !data} empty><${Empty} /><//><//>`;
  return html`<${Panel} title="Contracts" class="contracts" aside=${aside} foot=${html`<span>${count(data.files.length, "file")}${data.stored.length > 0 && ` · ${count(data.stored.length, "more contract")} in the store`}${data.complete === false && " · some files are not listed"}</span>`}>
    <div class="scroll" ref=${table}>
      ${failure && html`<${Waiting} failure=${failure} />`}
      ${rows.length ? html`<table class="list">
        <thead><tr><th class="wide">Contract</th><th>Lint</th><th class="n">Verdicts</th><th class="n">Refused</th><th class="n">Versions</th><th>Last verdict</th><th>Last change</th></tr></thead>
        <tbody>
          ${files.map((row, n) => html`<${Row} key=${row.file} row=${row} current=${n === place} first=${n === Math.max(0, place)} />`)}
          ${others.length > 0 && html`<tr class="between"><th colspan="7" scope="colgroup">Only in the store: no file in these folders has this name</th></tr>`}
          ${others.map((row, n) => html`<${Row} key=${`stored ${row.name}`} row=${row} current=${files.length + n === place} first=${files.length + n === Math.max(0, place)} />`)}
        </tbody>
      </table>` : html`<p class="note">No contract has “${text}” in its name.</p>`}
    </div>
  <//>`;
}

function Row({row, current, first}) {
  const seen = row.verdicts > 0;
  return html`<tr class=${current ? "current" : ""} onClick=${(event) => event.target.closest("a") || go(addressOf(row))}>
    <td class="wide"><a class="row" title=${row.title || undefined} href=${addressOf(row)} tabindex=${first ? 0 : -1}><strong>${row.name}</strong>${row.file && html` <span class="soft mono">${row.file}</span>`}${row.title && html` <span class="soft">${row.title}</span>`}</a></td>
    <td>${row.file ? html`<${Lint} row=${row} />` : html`<span class="soft">–</span>`}${draft(row.file) && html` <${Tag} kind="warning">unsaved<//>`}</td>
    <td class="n" data-of="verdicts">${about.value.store ? `${number(row.verdicts)}${row.capped ? "+" : ""}` : "–"}</td>
    <td class=${seen ? "n" : "n none"} data-of="refused" title=${row.estimated ? "of the latest 2,000 verdicts" : ""}>${seen ? percent(row.refused / row.verdicts) : "–"}</td>
    <td class="n extra">${row.versions ? number(row.versions) : "–"}</td>
    <td class="soft nowrap num extra" title=${row.last ? exactly(row.last) : ""}>${row.last ? when(row.last) : "–"}</td>
    <td class="soft nowrap num extra" title=${row.changed ? exactly(row.changed) : ""}>${row.changed ? when(row.changed) : "–"}</td>
  </tr>`;
}

function Lint({row}) {
  if (row.errors == null) return html`<span class="soft">not checked yet</span>`;
  if (row.errors) return html`<${Tag} kind="error">${count(row.errors, "error")}<//>`;
  return row.warnings ? html`<${Tag} kind="warning">${count(row.warnings, "warning")}<//>` : html`<${Tag} kind="ok">no problems<//>`;
}

const Empty = () => html`<p>There is no contract file in the studio's folders${about.value.folders.length ? ` (${about.value.folders.join(", ")})` : ""}.</p>
  <p class="soft">Start it with the folder that contains them: <code>trueup studio contracts --store verdicts.db</code>. No contract yet? <code>trueup infer replies.jsonl -o contract.yaml</code> drafts one from replies, or write one in <a href=${link("try")}>Try</a>.</p>`;
