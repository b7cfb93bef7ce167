// Drafts: changes that are not saved yet. They outlive a look at another view, and loading the page again in the same tab; closing it asks first.
import {signal} from "../vendor.js";

const NAME = "trueup contracts";
export const drafts = signal(remembered()); // by file: {text, base: {text, hash}}

function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME)) ?? {};
  } catch {
    return {};
  }
}

export const draft = (file) => drafts.value[file];

/** Keep a text as the change of a file; the text that the file already has is not a change. */
export function keep(file, text, base) {
  const {[file]: _, ...others} = drafts.peek();
  drafts.value = text === base.text ? others : {...others, [file]: {text, base}};
  try {
    sessionStorage.setItem(NAME, JSON.stringify(drafts.value));
  } catch {
    sessionStorage.removeItem(NAME); // no room: an older text must not come back
  }
}

export const forget = (file) => keep(file, "", {text: ""});

addEventListener("beforeunload", (event) => {
  if (Object.keys(drafts.peek()).length) event.preventDefault();
});
