// Versions: each version of a contract that has judged replies, with its refusals and its difference to the previous one.
import {html} from "../lib/html.js";
import {useKeys} from "../lib/keys.js";
import {useLoaded, Waiting} from "../lib/load.js";
import {Panel, Tabs} from "../lib/parts.js";
import {link, query, refine} from "../lib/place.js";
import {count, exactly, number, percent, when} from "../lib/words.js";
import {Patch} from "./contract-diff.js";
import {contractLink} from "./contract-head.js";

export function Versions({name, file, fingerprint}) {
  const {data, failure, busy} = useLoaded("/contracts/history", {name});
  const versions = [...(data?.versions ?? [])].reverse(); // newest first
  const wanted = query.value.get("version");
  const at = Math.max(0, versions.findIndex((each) => each.fingerprint === wanted));
  const move = (step) => refine({version: versions[Math.max(0, Math.min(versions.length - 1, at + step))].fingerprint});
  useKeys({j: ["next version", () => move(1)], k: ["previous version", () => move(-1)]}, versions.length > 1);
  if (!versions.length) return html`<${Panel} title="Versions"><${Waiting} failure=${failure} busy=${busy} empty>
    <p>No version of this contract has judged a reply yet.</p>
    <p class="soft">A gateway with a store records each version with its first verdict.</p><//><//>`;
  const shown = versions[at];
  return html`<div class="columns versions">
    <${Panel} title="Versions" aside=${count(versions.length + data.omitted, "version")} foot=${(data.omitted > 0 || !data.complete) && html`<span>${data.omitted > 0 ? `${count(data.omitted, "older version")} left out` : "Not all verdicts could be counted in time"}</span>`}>
      <ol class="timeline scroll" aria-label="Versions, newest first">${versions.map((each, n) => html`<li key=${each.fingerprint}>
        <button type="button" class=${n === at ? "current" : ""} aria-current=${n === at ? "true" : undefined} onClick=${() => refine({version: each.fingerprint})}>
          <span class="dot" aria-hidden="true"></span>
          <span class="top"><code class="code">${each.fingerprint.slice(0, 12)}</code>${each.fingerprint === fingerprint && html`<span class="tag ok">the file now</span>`}</span>
          <span class="soft" title=${`${exactly(each.first)} – ${exactly(each.last)}`}>${when(each.first)} – ${when(each.last, when(each.first).includes(" ") ? "today " : "")}</span>
          <span class="bottom"><span class="num">${each.capped ? `${number(each.verdicts)}+ verdicts` : count(each.verdicts, "verdict")}</span><${Refused} each=${each} before=${versions[n + 1]} /></span>
        </button></li>`)}</ol>
    <//>
    <${Version} key=${shown.fingerprint} version=${shown} first=${at === versions.length - 1} file=${file} name=${name} />
  </div>`;
}

function Refused({each, before}) {
  if (!each.verdicts) return null;
  const rate = each.refused / each.verdicts;
  const change = before?.verdicts ? rate - before.refused / before.verdicts : 0;
  const words = Math.abs(change) < 0.0005 ? "" : ` ${change > 0 ? "▲" : "▼"} ${Math.abs(change * 100).toFixed(1)}`;
  return html`<span class="num">${percent(rate)} refused${words && html`<span class="soft" title="Percentage points, compared with the previous version">${words}</span>`}</span>`;
}

function Version({version, first, file, name}) {
  const tab = query.value.get("show") === "text" || first || !version.diff ? "text" : "diff";
  const names = [...(first || !version.diff ? [] : [["diff", "Difference to the previous version"]]), ["text", "Whole contract"]];
  const foot = html`<${Tabs} label="Parts of the version" controls="version" names=${names} value=${tab} onChange=${(id) => refine({show: id === "text" ? id : ""})} />
    <span class="links"><a href=${link("verdicts", {contract: name, fingerprint: version.fingerprint})}>Its verdicts</a>
    ${file && version.text && !version.lost.length && html`<a class="button" href=${contractLink(file, {against: version.fingerprint})}>Backtest the file against this version</a>`}</span>`;
  return html`<${Panel} title=${`Version ${version.fingerprint.slice(0, 12)}`} foot=${foot}>
    ${version.lost.length > 0 && html`<p class="banner">The store does not have all of it: ${version.lost.join(", ")}.</p>`}
    <div id="version" class="scroll" role="tabpanel" aria-label=${tab === "text" ? "Whole contract" : "Difference"} tabindex="0">
      ${tab === "diff" ? html`<${Patch} diff=${version.diff} label="Difference to the previous version" />` : html`<pre class="whole">${version.text || "The store has no text of this version."}</pre>`}
    </div>
  <//>`;
}
