// The backtest of a change: it starts shortly after the text has changed, and ends when it changes again or nobody looks.
import {useEffect, useSignal} from "../vendor.js";
import {stream} from "../lib/api.js";

const PAUSE = 350; // milliseconds without a key before judging begins
const NONE = {phase: "idle", found: null, flips: [], progress: null, failure: null};

/**
 * The backtest of what is `asked` (null: none): `{phase, found, flips, progress, failure, stop, again}`.
 * `found` are the figures so far; while the next text waits for its first ones, those of the last text stay, and `stale` is true.
 */
export function useBacktest(asked) {
  const state = useSignal(NONE);
  const turn = useSignal(0);
  const running = useSignal(null);
  const key = asked && JSON.stringify(asked);
  useEffect(() => {
    if (!key) {
      state.value = NONE;
      return undefined;
    }
    const abort = new AbortController();
    running.value = abort;
    state.value = {...state.value, phase: "waiting", stale: true, failure: null};
    const timer = setTimeout(() => follow(JSON.parse(key), state, abort.signal), PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, turn.value]);
  const stop = () => {
    running.value?.abort();
    state.value = {...state.value, phase: state.value.found ? "stopped" : "idle"};
  };
  return {...state.value, stop, again: () => (turn.value += 1)};
}

async function follow(asked, state, signal) {
  const change = (news) => signal.aborted || (state.value = {...state.value, ...news});
  try {
    change({phase: "running", progress: null});
    for await (const event of stream("/backtest", asked, signal)) {
      if (event.progress) change({progress: event.progress});
      if (event.estimate) change({found: event.estimate, flips: event.estimate.flips ?? [], stale: false});
      if (event.result) change({phase: "done", found: event.result, flips: event.result.flips, stale: false, progress: null});
    }
    if (state.value.phase === "running") change({phase: "stopped"});
  } catch (failure) {
    if (failure.name !== "AbortError") change({phase: "failed", failure, progress: null});
  }
}
