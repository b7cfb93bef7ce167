// Long work: what is asked for enters, what is known so far leaves as it comes. It ends when something else is asked for, or nobody looks.
import {useEffect, useRef, useSignal} from "../vendor.js";
import {stream} from "./api.js";

const NONE = {phase: "idle", found: null, progress: null, failure: null, stale: false};

/**
 * The work of what is `asked` at a path (null: none): `{phase, found, progress, failure, stale, isBusy, stop, again}`. It starts as soon as it is `ready` and nothing
 * else was asked for `pause` milliseconds. With a pause, what was `found` last stays until there is something newer, and is `stale`.
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
