// Drafts: unsaved changes. They survive a visit to another view and a reload in the same tab; closing the tab asks first.
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

/** Keep a text as the change of a file, unless the file already has that text. */
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
