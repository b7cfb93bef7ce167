// Preact and htm, bound once. Everything that a view draws goes through `html`, so all text from replies ends up in text nodes.
import {h, htm} from "../vendor.js";

export const html = htm.bind(h);
