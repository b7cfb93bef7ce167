// Preact and htm, bound once. Everything that a view draws goes through `html`, so every text of a reply is a text node.
import {h, htm} from "../vendor.js";

export const html = htm.bind(h);
