// The source of Try: the text that must contain the values, with the place of each; or the documents in the context.
import {html} from "../lib/html.js";
import {Sources} from "../lib/evidence.js";
import {Panel} from "../lib/parts.js";
import {refine} from "../lib/place.js";
import {count} from "../lib/words.js";
import {OpenFile, textOf, useDrop} from "./try-reply.js";
import {editMaterial, isOpening, judged, material, pick, picked, settled} from "./try-state.js";

const NONE = {rows: [], sources: []};

async function open(file) {
  const text = await textOf(file);
  await settled();
  if (text !== null) editMaterial(text);
}

export function SourcePanel() {
  const [over, drops] = useDrop(open);
  const {verdict, about} = judged.value;
  const evidence = verdict?.evidence ?? NONE;
  const isOwn = material.value || about?.source || !evidence.sources.length;
  const own = isOwn && {value: material.value, waits: isOpening.value, whole: about?.source ?? "", onChange: editMaterial, onFile: open, memory: "source", placeholder: "Paste the text that must contain the values, or drop a file here."};
  const choose = (index) => {
    refine({show: "evidence"});
    pick(index);
  };
  return html`<${Panel} title="Source" id="try-source" class=${over} aside=${html`<span class="soft num">${isOwn ? count(material.value.length, "character") : "from the context"}</span><${OpenFile} label="Open a file as the source" onFile=${open} />`} ...${drops}>
    <div class="body"><${Sources} key=${Boolean(isOwn)} evidence=${evidence} chosen=${picked.value} onChoose=${choose} ...${own} /></div>
  <//>`;
}
