// Long work: it takes a request and returns partial results as they arrive. It ends when the request changes or the view closes.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {stream} from "./api.js";

const NONE = {phase: "idle", found: null, progress: null, failure: null, stale: false};

/**
 * The work of what is `asked` at a path (null: none): `{phase, found, progress, failure, stale, isBusy, stop, again}`. It starts once it is
 * `ready` and the request has not changed for `pause` milliseconds. With a pause, the last `found` stays, marked `stale`, until there is a
 * newer one.
 */
export function useWork(path, asked, {ready = true, pause = 0} = {}) {
  const state = useSignal(NONE);
  const turn = useSignal(0);
  const running = useRef(null);
  const key = asked && JSON.stringify(asked);
  useEffect(() => {
    state.value = key ? {...(pause ? state.value : NONE), phase: "waiting", stale: true, failure: null} : NONE;
    if (!key || !ready) return undefined;
    const abort = (running.current = new AbortController());
    const timer = setTimeout(() => follow(path, JSON.parse(key), state, abort.signal), pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, ready, turn.value]);
  const stop = () => {
    running.current?.abort();
    state.value = {...state.value, phase: "stopped"};
  };
  const {phase} = state.value;
  return {...state.value, isBusy: phase === "running" || phase === "waiting", stop, again: () => (turn.value += 1)};
}

async function follow(path, asked, state, signal) {
  const change = (news) => signal.aborted || (state.value = {...state.value, ...news});
  try {
    change({phase: "running", progress: null});
    for await (const {progress, estimate, result} of stream(path, asked, signal)) {
      if (progress) change({progress});
      if (estimate) change({found: estimate, stale: false});
      if (result) change({phase: "done", found: result, stale: false, progress: null});
    }
    if (state.value.phase === "running") change({phase: "stopped"});
  } catch (failure) {
    if (failure.name !== "AbortError") change({phase: "failed", failure, progress: null});
  }
}
