// Drafts: changes that are not saved yet. They outlive a look at another view; closing the tab asks first.
import {signal} from "../vendor.js";

export const drafts = signal({}); // by file: {text, base: {text, hash}}

export const draft = (file) => drafts.value[file];

/** Keep a text as the change of a file; the text that the file has is no change. */
export function keep(file, text, base) {
  const {[file]: _, ...others} = drafts.peek();
  drafts.value = text === base.text ? others : {...others, [file]: {text, base}};
}

export const forget = (file) => keep(file, "", {text: ""});

addEventListener("beforeunload", (event) => {
  if (Object.keys(drafts.peek()).length) event.preventDefault();
});
