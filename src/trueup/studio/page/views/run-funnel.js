// The funnel: for each step the units that came in, passed, failed and are waiting, as bars on one scale. A number links to its units.
import {html} from "../lib/html.js";
import {Panel} from "../lib/parts.js";
import {query} from "../lib/place.js";
import {count, lasted, number, percent} from "../lib/words.js";
import {Bar, costOf, runLink} from "./run-words.js";

const SCOPES = {chunk: "asks a model", expression: "expressions", fan_out: "fans out a list", run: "runs a script", stage: ""};

const Amount = ({value, word, kind = "", href}) => {
  const shown = html`<b>${number(value)}</b> ${word}`;
  return html`<span class=${value ? kind : "soft"}>${href && value ? html`<a href=${href} class=${kind}>${shown}</a>` : shown}</span>`;
};

export function Funnel({row}) {
  const widest = Math.max(1, ...row.steps.map((step) => step.in));
  const at = query.value.get("step") ?? "";
  const isSift = row.kind === "sift";
  const to = (step, kind) => runLink(row.run, {kind, step: step.step});
  return html`<${Panel} title="Funnel" class="funnel" aside=${isSift ? "units that passed each stage" : "units at each step"}>
    <ol class="scroll" tabindex="0" aria-label="Steps">${row.steps.map((step) => html`<li key=${step.step} aria-current=${at === step.step ? "step" : undefined}>
      <div class="what"><b><bdi>${step.title}</bdi></b> <span class="soft">${[SCOPES[step.scope] ?? step.scope, step.model].filter(Boolean).join(" · ")}</span></div>
      <div class="how num">${step.in > 0 && html`<span class="soft">${percent(step.valid / step.in)} passed</span>`}</div>
      <div class="width"><span style=${{width: `${(100 * step.in) / widest}%`}}><${Bar} valid=${step.valid} failed=${step.failed} whole=${step.in} /></span></div>
      <div class="amounts num">
        <span><b>${number(step.in)}</b> in</span>
        <${Amount} value=${step.valid} word=${isSift ? "passed" : "valid"} kind="ok" href=${isSift ? undefined : to(step, "valid")} />
        <${Amount} value=${step.failed} word="failed" kind="bad" href=${to(step, "failed")} />
        ${step.waiting > 0 && html`<${Amount} value=${step.waiting} word="waiting" />`}
        ${step.retried > 0 && html`<${Amount} value=${step.retried} word="retried" />`}
        ${step.calls > 0 && html`<span class="soft">${count(step.calls, "call")} · ${costOf(step)}${step.seconds > 0 && ` · ${lasted(step.seconds)}`}</span>`}
      </div>
    </li>`)}</ol>
  <//>`;
}
