// What the views of a contract share: its address, and their place in the bar.
import {render, useLayoutEffect} from "../vendor.js";
import {link} from "../lib/place.js";

/** The address of a contract's file. */
export const contractLink = (file, given = {}) => link("contracts", ...file.split("/"), given);

/** What a view puts into the bar at the top. */
export function Actions({children}) {
  useLayoutEffect(() => render(children, document.getElementById("bar-actions")));
  useLayoutEffect(() => () => render(null, document.getElementById("bar-actions")), []);
  return null;
}
