// What the server says about itself and about the rights of whoever looks.
import {signal} from "../vendor.js";

export const about = signal({rights: [], store: false, folders: [], demo: false});
export const may = (right) => about.value.rights.includes(right);
