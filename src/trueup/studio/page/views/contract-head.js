// Shared by the views of a contract: its address, and their buttons in the bar.
import {render, useLayoutEffect} from "../vendor.js";
import {link} from "../lib/place.js";

/** The address of a contract's file. */
export const contractLink = (file, given = {}) => link("contracts", ...file.split("/"), given);

/** The buttons of a view in the bar at the top. */
export function Actions({children}) {
  useLayoutEffect(() => render(children, document.getElementById("bar-actions")));
  useLayoutEffect(() => () => render(null, document.getElementById("bar-actions")), []);
  return null;
}
