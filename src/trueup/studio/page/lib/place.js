// Places: the URL of each view, and navigation without reloading the page.
import {computed, signal} from "../vendor.js";

export const mount = document.querySelector('meta[name="trueup-mount"]').content;
export const nonce = document.querySelector('meta[name="trueup-nonce"]').content;

const here = signal(read());

function read() {
  return {path: location.pathname.slice(mount.length) || "/", query: location.search, hash: location.hash};
}

/** A step as text; an invalid encoding stays unchanged. */
function plain(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

addEventListener("popstate", () => (here.value = read()));
addEventListener("hashchange", () => (here.value = read()));

/** The steps of the path: `/verdicts/abc` is `["verdicts", "abc"]`. */
export const steps = computed(() => here.value.path.split("/").filter(Boolean).map(plain));
/** The query as URLSearchParams. Do not change it; call `go` or `refine`. */
export const query = computed(() => new URLSearchParams(here.value.query));
export const fragment = computed(() => here.value.hash.slice(1));

/** The address of a view: `link("verdicts", id)`, with `{model: "m"}` as the last argument for a query. Empty values are left out. */
export function link(...parts) {
  const last = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const path = `${mount}/${parts.map(encodeURIComponent).join("/")}`;
  const given = new URLSearchParams(Object.entries(last).filter(([, value]) => value !== "" && value != null));
  return given.size ? `${path}?${given}` : path;
}

/** Go to an address of the studio. */
export function go(address, {replace = false} = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  here.value = read();
}

/** Change some parameters of the query and keep the rest. */
export function refine(changes, options = {replace: true}) {
  const given = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value == null) given.delete(name);
    else given.set(name, value);
  }
  go(`${location.pathname}${given.size ? `?${given}` : ""}`, options);
}

// A click on a link of the studio stays in the page. With a modifier, or for other links, the browser does its default.
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  if (!anchor.pathname.startsWith(`${mount}/`) || anchor.pathname.startsWith(`${mount}/api/`)) return;
  event.preventDefault();
  go(anchor.href);
});
