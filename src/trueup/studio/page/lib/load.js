// Loading data for a view: waiting, failure and success are handled in one place.
import {useEffect, useSignal} from "../vendor.js";
import {html} from "./html.js";
import {get} from "./api.js";
import {link} from "./place.js";

/** The data of a GET path as a signal of `{data, failure, busy, reload, show}`. Data stays while newer data is loading; `show` sets data that came another way. `every`: milliseconds between requests. */
export function useLoaded(path, given = {}, {every = 0, after = 0} = {}) {
  const state = useSignal({data: undefined, failure: null, busy: true, key: null});
  const turn = useSignal(0);
  const key = path === null ? null : JSON.stringify([path, given]);
  useEffect(() => {
    if (key === null) return undefined;
    const abort = new AbortController();
    let timer = 0;
    const look = async () => {
      state.value = {...state.value, busy: true, key};
      try {
        state.value = {data: await get(path, given, abort.signal), failure: null, busy: false, key};
      } catch (failure) {
        if (failure.name === "AbortError") return;
        state.value = {data: state.value.data, failure, busy: false, key};
      }
      if (every) timer = setTimeout(() => (document.hidden ? addEventListener("visibilitychange", look, {once: true, signal: abort.signal}) : look()), every);
    };
    if (after) timer = setTimeout(look, after);
    else look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, every, turn.value]);
  const {data, failure, busy, key: known} = state.value;
  return {data, failure, busy: busy || known !== key, reload: () => (turn.value += 1), show: (news) => (state.value = {...state.value, data: news, failure: null})};
}

/** A note in place of missing data. */
export function Waiting({failure, busy, empty, children}) {
  if (failure) return html`<${Failed} failure=${failure} />`;
  if (busy) return html`<p class="note" aria-busy="true">Loading…</p>`;
  if (empty) return html`<div class="note">${children}</div>`;
  return null;
}

export function Failed({failure}) {
  return html`<div class="note bad" role="alert"><p>${failure.message}</p>${failure.hint && html`<p class="soft">${failure.hint}</p>`}
    ${failure.status === 401 && html`<p><a target="_self" href=${link("sign-in", {to: location.pathname + location.search}) + location.hash}>Sign in</a></p>`}</div>`;
}
