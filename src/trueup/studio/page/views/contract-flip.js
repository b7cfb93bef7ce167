// One flip, side by side: the old verdict, the reply, the new verdict.
import {useEffect, useSignal} from "../vendor.js";
import {may} from "../lib/about.js";
import {post} from "../lib/api.js";
import {Explain, Facts, Headline} from "../lib/facts.js";
import {Label, Turn} from "../lib/flips.js";
import {html} from "../lib/html.js";
import {Failed} from "../lib/load.js";
import {Marked} from "../lib/marked.js";
import {Key} from "../lib/parts.js";
import {link} from "../lib/place.js";

/** Both verdicts on the reply of a flip. */
function useBoth({flip, file, text, against}) {
  const state = useSignal({both: null, failure: null});
  useEffect(() => {
    const abort = new AbortController();
    post("/backtest/flip", {id: flip.id, file, text, against}, abort.signal).then(
      (both) => (state.value = {both, failure: null}),
      (failure) => failure.name === "AbortError" || (state.value = {both: null, failure}),
    );
    return () => abort.abort();
  }, [flip.id, file, text, against]);
  return state.value;
}

export function Flip({flip, tell, file, text, against}) {
  const {both, failure} = useBoth({flip, file, text, against});
  const chosen = useSignal([flip.now ? "old" : "new", 0]); // the side whose marks are shown, and the chosen fact: at first the reason for the refusal
  const explained = useSignal("");
  const side = both?.[chosen.value[0]] ? chosen.value[0] : "new";
  const fact = chosen.value[1];
  const facts = html`<div class="flip-facts"><${Turn} flip=${flip} /><${Label} label=${flip.label} />
    ${flip.model && html`<span class="soft">${flip.model}</span>`}${flip.state && html`<span class="soft">${flip.state}</span>`}
    <a href=${link("verdicts", flip.id)}>Open the verdict</a>
    ${may("label") && html`<span class="buttons"><button type="button" aria-pressed=${flip.label === "better"} onClick=${() => tell(flip, true)}>New is right <${Key}>r<//></button>
      <button type="button" aria-pressed=${flip.label === "worse"} onClick=${() => tell(flip, false)}>New is wrong <${Key}>w<//></button></span>`}</div>`;
  if (failure) return html`${facts}<${Failed} failure=${failure} />`;
  if (!both) return html`${facts}<p class="note" aria-busy="true">Judging this reply…</p>`;
  const shown = both[side];
  if (!shown) return html`${facts}<p class="note">This reply can no longer be judged: a check of the contract raised an error.</p>`;
  const verdict = (which, title) => html`<section aria-label=${title}><h3>${title}</h3>
    ${both[which] ? html`<${Headline} verdict=${both[which]} /><div class="scroll" tabindex="0" role="region" aria-label=${`${title}: findings and fixes`}><${Facts} facts=${both[which].facts} chosen=${side === which ? fact : null} onChoose=${(index) => (chosen.value = [which, index])} onExplain=${(code) => (explained.value = code)} />
      ${!both[which].facts.length && html`<p class="note">No findings, nothing changed.</p>`}</div>` : html`<p class="note">Only the recorded outcome is known: ${flip.was ? "accepted" : "refused"}.</p>`}</section>`;
  return html`${facts}<div class="flip">
    ${verdict("old", "Old contract")}
    <section aria-label="Reply"><h3>Reply <span class="aside">marks of the ${side} contract</span></h3>
      <${Marked} value=${shown.text} drawn=${shown} chosen=${fact} onChoose=${(index) => (chosen.value = [side, index])} readOnly label="Reply" /></section>
    ${verdict("new", "New contract")}
  </div>
  ${explained.value && html`<${Explain} code=${explained.value} onClose=${() => (explained.value = "")} />`}`;
}
