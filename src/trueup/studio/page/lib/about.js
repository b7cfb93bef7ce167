// Facts about the server, and the rights of the current user.
import {signal} from "../vendor.js";

export const about = signal({rights: [], store: false, folders: [], demo: false});
export const may = (right) => about.value.rights.includes(right);
