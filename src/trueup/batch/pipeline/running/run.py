"""Carries out a run: compiles steps, opens providers, drives the work, collects results, and records the end.

Takes a run directory, and returns a `RunEnd` with the exit code of the command line. However a run ends, everything that was paid
for is on the disk, and running it again continues from there.
"""

import asyncio
import contextlib
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trueup.batch.disk.full_disk import is_full
from trueup.batch.pipeline.config import Pipeline
from trueup.batch.pipeline.estimating.cost import Prices, Purse, prices_of
from trueup.batch.pipeline.estimating.estimate import estimate, recorded
from trueup.batch.pipeline.prompts.templates import PromptError, Prompts
from trueup.batch.pipeline.providers.calling import ProviderCaller
from trueup.batch.pipeline.providers.choose import KEYS, NoProvider, address, chosen, open_provider
from trueup.batch.pipeline.providers.provider import Provider
from trueup.batch.pipeline.providers.rate_limits import RateGate
from trueup.batch.pipeline.providers.reply_cache import ReplyCache
from trueup.batch.pipeline.reporting.live import Live
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.rundir.lock import RunTakenOver
from trueup.batch.pipeline.rundir.state import Chunk
from trueup.batch.pipeline.running.post_processing import post_process
from trueup.batch.pipeline.running.realtime import Engine
from trueup.batch.pipeline.running.results import gather, publish
from trueup.batch.pipeline.running.stop import Stop, no_room
from trueup.batch.pipeline.steps.llm import LlmStep
from trueup.batch.pipeline.verifying.verify import verify_copy
from trueup.contract.files.faults import ContractError

if TYPE_CHECKING:
    from trueup.batch.pipeline.providers.batches import Batches

_CODES = {
    "paused": 130,  # not everything is valid: a script that continues after exit code 0 must not continue
    "interrupted": 130,
    "cost": 3,
    "timeout": 3,
    "provider": 3,
    "disk": 3,
    "failed": 1,
    "config": 2,
    "fenced": 3,
    "internal": 3,
}


class PipelineOptions(NamedTuple):
    """How to run this time. If `batches` is not set, batches that were sent are waited for."""

    batch: bool | None = None
    workers: int = 8
    max_cost: float | None = None
    timeout: float | None = None
    poll: float | None = None
    cache: str | None = None  # the file with replies to identical requests


class RunEnd(NamedTuple):
    """How a run ended this time."""

    status: str
    reason: str
    code: int


def execute(
    path: Path,
    options: PipelineOptions | None = None,
    on_live: Callable[[Live], None] | None = None,
    on_log: Callable[[str], None] | None = None,
    disk: Disk | None = None,
    provider: Provider | None = None,
) -> RunEnd:
    """Run until everything is done or something stops it. `provider` replaces the configured providers."""
    options = options or PipelineOptions()
    run = OwnedRun.open(path, disk)
    run.log.listener = on_log
    try:
        return asyncio.run(_execute(run, options, on_live, provider))
    except OSError as error:
        if not is_full(error):
            raise
        return RunEnd("paused", no_room(run.path, error), _CODES["disk"])
    except RunTakenOver as error:
        return RunEnd("paused", str(error), _CODES["fenced"])
    finally:
        run.close()


async def _execute(
    run: OwnedRun, options: PipelineOptions, on_live: Callable[[Live], None] | None, provider: Provider | None
) -> RunEnd:
    stop = Stop()
    options = options._replace(batch=_by_batch(run, asked=options.batch))
    opened = _open_providers(run, options, stop, provider)
    try:
        run.commit("began", mode="batch" if options.batch else "realtime", cap=opened.purse.cap)
        publish(run)
        run.write_manifest()
        for problem in verify_copy(run):
            run.log.say(f"{problem.message}; the changed version is used")
        with _signals(stop, run.given_up.set):
            opened.foresee((chunk for chunk in run.state.chunks.values() if run.state.is_open(chunk)), "start")
            live = Live(run, stop, opened, options, on_live)
            await _carry_on(run, options, opened, stop, live)
            return await asyncio.to_thread(_end, run, stop, live)
    finally:
        await opened.close()


def _by_batch(run: OwnedRun, *, asked: bool | None) -> bool:
    """Whether to use batches: as requested; by default, if some were sent and never collected, since they are paid for."""
    left = [batch for chunk in run.state.chunks.values() for batch in chunk.batches if not batch.collected]
    if left and not asked:
        requests = sum(batch.requests for batch in left)
        follows = (
            "the run waits for them" if asked is None else "they are abandoned, and all their requests are sent again"
        )
        run.log.say(f"{len(left)} of its batches, with {requests} requests, were sent and not collected; {follows}")
    return bool(left) if asked is None else asked


async def _carry_on(run: OwnedRun, options: PipelineOptions, opened: "_Providers", stop: Stop, live: Live) -> None:
    try:
        await _drive(run, options, opened, stop, live)
    except RunTakenOver:
        raise
    except Exception as error:
        if is_full(error):
            raise
        run.log.say("".join(traceback.format_exception(error)))
        said = f"{type(error).__name__}: {str(error)[:300]}"
        if isinstance(error, OSError) and error.filename:
            said = f"{error.filename}: {error.strerror}"
        stop.ask("internal", f"{said} (RUN_LOG.txt has more); run it again to resume")


async def _drive(run: OwnedRun, options: PipelineOptions, opened: "_Providers", stop: Stop, live: Live) -> None:
    if options.batch:
        from trueup.batch.pipeline.running.batch_mode import BatchEngine

        batch = BatchEngine(
            run, opened.asking, opened.batches(), stop, prices=opened.prices, purse=opened.purse, poll=options.poll
        )
        batch.foresee, batch.keeping = opened.foresee, opened.keeping
        live.watch(batch)
        await batch.go()
    else:
        alone = any(step.provider == "local" for step in opened.asking.values())  # it handles one at a time
        engine = Engine(run, opened.asking, opened.callers, stop, 1 if alone else options.workers)
        engine.foresee, engine.keeping = opened.foresee, opened.keeping
        live.watch(engine)
        await engine.go()


def _open_providers(run: OwnedRun, options: PipelineOptions, stop: Stop, given: Provider | None) -> "_Providers":
    try:
        return _Providers(run, options, stop, given)
    except (NoProvider, PromptError, ContractError):
        raise
    except (ValueError, TypeError) as error:  # a number or a word of the configuration that something refuses
        raise NoProvider(f"the configuration cannot be used: {error}") from None


def asking_steps(run: OwnedRun) -> dict[str, LlmStep]:
    """The steps of a run that ask a model, without a provider: enough to render their prompts."""
    pipeline, wanted = run.pipeline, run.state.run.get("wanted", {})
    found: dict[str, LlmStep] = {}
    for step in pipeline.steps:
        if step.asks:
            prompts = Prompts(pipeline.inside(pipeline.template_dir))
            found[step.name] = LlmStep(pipeline, step, prompts, *chosen(pipeline, step, wanted))
    return found


def check_options(pipeline: Pipeline, wanted: Mapping[str, Any], options: PipelineOptions) -> None:
    """Raise NoProvider if a run of a pipeline would be refused because of its cost cap or its cache, before it is made."""
    cap, prices = _cap(pipeline, options), prices_of(pipeline.section("api", "prices"), str(wanted.get("price", "")))
    for step in pipeline.steps:
        if step.asks:
            _refuse_unpriced(cap, prices, *chosen(pipeline, step, wanted))
    if options.cache:
        _open_cache(options.cache, {}).close()


def _cap(pipeline: Pipeline, options: PipelineOptions) -> float | None:
    """The cost cap of a run, as requested or configured."""
    cap = options.max_cost
    if cap is None:
        cap = pipeline.section("api", "realtime").get("cost_cap_usd")
    return None if cap is None else float(cap)


def _refuse_unpriced(cap: float | None, prices: Prices, name: str, model: str) -> None:
    if cap is not None and not prices.known(name, model):
        raise NoProvider(
            f"a cost cap of ${cap:g} is set, but the price of {model or name!r} is not known:"
            " give --price IN/OUT, or set api.prices (per million tokens), or drop the cap"
        )


def _open_cache(path: str, asked: Mapping[str, str]) -> ReplyCache:
    try:
        return ReplyCache(path, asked)
    except OSError as error:
        raise NoProvider(f"--cache {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise NoProvider(f"--cache {path}: {error}") from None


class _Providers:
    """The steps that ask, each with its provider; steps with the same provider share its gate."""

    def __init__(self, run: OwnedRun, options: PipelineOptions, stop: Stop, given: Provider | None) -> None:
        pipeline, wanted = run.pipeline, run.state.run.get("wanted", {})
        prices = prices_of(pipeline.section("api", "prices"), str(wanted.get("price", "")))
        self.purse = Purse(_cap(pipeline, options), run.state.money().usd + recorded(run))
        self.asking: dict[str, LlmStep] = {}
        self.callers: dict[str, ProviderCaller] = {}
        self.prices = prices
        self._by_name: dict[str, ProviderCaller] = {}
        self._opened: list[Provider | Batches] = []
        self._run = run
        self._stop = stop
        prompts: Prompts | None = None
        for step in pipeline.steps:
            if not step.asks:
                continue
            name, model = (given.name, str(wanted.get("model", ""))) if given else chosen(pipeline, step, wanted)
            _refuse_unpriced(self.purse.cap, prices, name, model)
            prompts = prompts or Prompts(pipeline.inside(pipeline.template_dir))
            self.asking[step.name] = LlmStep(pipeline, step, prompts, name, model)
            if name not in self._by_name:
                provider = given or open_provider(name, pipeline, wanted)
                self._opened.append(provider)
                gate = RateGate(pipeline.section("api", "rate_limit"))
                self._by_name[name] = ProviderCaller(provider, gate, prices, self.purse, stop)
            self.callers[step.name] = self._by_name[name]

        self.keeping = self._kept(pipeline, wanted, options.cache) if options.cache else None

    def _kept(self, pipeline: Pipeline, wanted: Mapping[str, Any], path: str) -> ReplyCache:
        """The file of replies that earlier runs paid for. Recorded replies need no cache, since they cost nothing."""
        asked = {
            step: f"{llm.provider} {address(llm.provider, pipeline, wanted) if llm.provider in KEYS else ''}"
            for step, llm in self.asking.items()
            if llm.provider != "replay"
        }
        return _open_cache(path, asked)

    def foresee(self, chunks: Iterable[Chunk], why: str) -> None:
        """Log the estimate. Stop before the work if it may cost more than the rest of the cap."""
        if not self.asking:
            return
        to_come = estimate(self._run, chunks, self.asking, self.prices)
        if not to_come.calls:
            return
        self._run.log.say(f"{why}: {to_come}")
        cap = self.purse.cap
        if cap is not None and to_come.usd is not None and why != "start" and self.purse.spent + to_come.usd > cap:
            about = f"{why}: {to_come}"
            self._stop.ask("cost", lambda: f"{about}, ${self.purse.spent:.4f} is spent, and the cost cap is ${cap:g}")

    def batches(self) -> "dict[str, Batches]":
        """The batch interface of each asking step; steps with the same provider share one."""
        from trueup.batch.pipeline.providers.batches import open_batches
        from trueup.batch.pipeline.providers.replay import ReplayProvider

        by_name: dict[str, Batches] = {}
        for name, caller in self._by_name.items():
            provider = caller.provider
            by_name[name] = open_batches(name, self._run, provider if isinstance(provider, ReplayProvider) else None)
            self._opened.append(by_name[name])
        return {step: by_name[llm.provider] for step, llm in self.asking.items()}

    @property
    def under_way(self) -> int:
        return sum(caller.under_way for caller in self._by_name.values())

    async def close(self) -> None:
        if self.keeping is not None:
            self.keeping.close()
        for provider in self._opened:
            with contextlib.suppress(OSError):
                await provider.close()


@contextlib.contextmanager
def _signals(stop: Stop, give_up: Callable[[], None]) -> Any:
    """On Ctrl-C or SIGTERM, wait for unfinished calls and end scripts. A second Ctrl-C ends immediately."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop:
            raise KeyboardInterrupt
        stop.ask("interrupted", "interrupted; run it again to resume")
        give_up()

    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in signals:
            loop.add_signal_handler(number, asked)
    except (RuntimeError, ValueError, NotImplementedError):
        yield  # not in the main thread: the caller handles signals
        return
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _end(run: OwnedRun, stop: Stop, live: Live) -> RunEnd:
    """Record how it ended."""
    if stop:
        return _stopped(run, stop, live)
    began = time.monotonic()
    run.free_reserve()  # collecting the results needs the space now
    valid, failed = gather(run)
    post_process(run)
    if stop:
        return _stopped(run, stop, live)
    status, text = ("done", "") if valid else ("failed", _nothing(run))
    run.commit("ended", status=status, reason=text)
    run.log.say(f"{status}: {valid} valid, {failed} failed (collected in {time.monotonic() - began:.1f}s)")
    run.write_manifest()
    return RunEnd(status, text, 0 if status == "done" and not failed else 1)


def _stopped(run: OwnedRun, stop: Stop, live: Live) -> RunEnd:
    """Record what stopped it. An owner that was replaced writes nothing."""
    reason = stop.reason
    assert reason is not None
    text = reason.text
    if reason.kind == "fenced":
        return RunEnd("paused", text, _CODES["fenced"])
    status = "failed" if reason.kind in {"failed", "config"} else "paused"
    run.commit("ended", status=status, reason=text)
    run.log.say(f"{status}: {text}")
    publish(run, live.failures)
    run.write_manifest(live.picture())
    return RunEnd(status, text, _CODES[reason.kind])


def _nothing(run: OwnedRun) -> str:
    """Why no unit is valid: the first step that none passed, with its reasons."""
    for row in run.state.step_rows():
        if row["failed"] and not row["valid"]:
            codes = ", ".join(f"{code} {n}" for code, n in sorted(row["codes"].items(), key=lambda item: -item[1])[:5])
            units = "its only unit is not" if row["failed"] == 1 else f"none of {row['failed']} units is"
            return f"step {row['step']}: {units} valid ({codes})"
    return "no unit is valid"
