// One contract: its file with a live backtest of every change, its versions, its codes over time, and the precision of its rules.
import {useEffect} from "../vendor.js";
import {html} from "../lib/html.js";
import {Failed, useLoaded, Waiting} from "../lib/load.js";
import {Tabs} from "../lib/parts.js";
import {link, query, refine} from "../lib/place.js";
import {Codes} from "./contract-codes.js";
import {draft} from "./contract-drafts.js";
import {Edit} from "./contract-edit.js";
import {Precision} from "./contract-precision.js";
import {Versions} from "./contract-versions.js";

const TABS = [["edit", "Edit"], ["versions", "Versions"], ["codes", "Codes over time"], ["precision", "Precision"]];

/** A contract with a file. */
export function Contract({file}) {
  const loaded = useLoaded("/contracts/file", {file});
  useEffect(() => {
    const look = () => document.hidden || loaded.reload(); // the file may have changed in the meantime
    addEventListener("visibilitychange", look);
    return () => removeEventListener("visibilitychange", look);
  }, [file]);
  useEffect(() => {
    document.title = `${file.split("/").at(-1)} · trueup studio`;
  }, [file]);
  const {data, failure} = loaded;
  const tab = query.value.get("tab") ?? "edit";
  const head = html`<${Head} name=${data?.name || file.split("/").at(-1)} file=${file} tabs=${failure && !data ? [] : TABS} tab=${tab} unsaved=${Boolean(draft(file))} />`;
  if (!data) return html`${head}<${Waiting} failure=${failure} busy=${!failure} />`;
  return html`${head}
    ${failure && html`<${Failed} failure=${failure} />`}
    <div id="tab" class="tab" role="tabpanel" aria-label=${TABS.find(([id]) => id === tab)?.[1]}>
      <div class="tab" hidden=${tab !== "edit"}><${Edit} key=${file} file=${file} loaded=${data} reload=${loaded.reload} show=${loaded.show} shown=${tab === "edit"} /></div>
      <${Past} tab=${tab} name=${data.name} file=${file} fingerprint=${data.fingerprint} />
    </div>`;
}

/** A contract that only the store has, by its name. */
export function Stored({name}) {
  const tab = query.value.get("tab") ?? "versions";
  return html`<${Head} name=${name} file="" tabs=${TABS.slice(1)} tab=${tab} />
    <div id="tab" class="tab" role="tabpanel" aria-label=${TABS.find(([id]) => id === tab)?.[1]}><${Past} tab=${tab} name=${name} file="" fingerprint="" /></div>`;
}

function Past({tab, ...rest}) {
  const View = {versions: Versions, codes: Codes, precision: Precision}[tab];
  return View ? html`<${View} ...${rest} />` : null;
}

function Head({name, file, tabs, tab, unsaved}) {
  return html`<div class="contract-head">
    <p class="crumbs"><a href=${link("contracts")}>Contracts</a> <span class="soft">/</span> <strong class="cut" title=${name}>${name}</strong>
      ${file ? html`<span class="soft cut mono" title=${file}>${file}</span>` : html`<span class="soft">only in the store: no file in the studio's folders has this name</span>`}
      ${unsaved && tab !== "edit" && html`<span class="tag warning">unsaved</span>`}</p>
    ${tabs.length > 0 && html`<${Tabs} label="About this contract" controls="tab" names=${tabs} value=${tab} onChange=${(id) => refine({tab: id === tabs[0][0] ? "" : id}, {})} />`}
  </div>`;
}
