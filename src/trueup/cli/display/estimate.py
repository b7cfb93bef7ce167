"""Show `trueup run --estimate`: a table of steps with calls, tokens and cost, and the basis of these figures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueup.cli.options.runs import RunUnavailable, check_sample, find_run, given_prices, is_run, read_pipeline

if TYPE_CHECKING:
    from trueup.batch.pipeline.estimating.preview import Preview

OVER = 3  # the exit code if the estimate is above the cap
_UNITS = ("max_units", "repeat", "sample", "by", "seed")  # options that choose the units of a new run


def show_preview(
    place: str, chosen: dict[str, Any], like: str | None, *, batch: bool, cap: float | None, as_json: bool
) -> int:
    """Print what a pipeline, or the rest of a run, will need. Nothing is written and no model is asked."""
    found = _preview(place, chosen, like, batch=batch)
    if as_json:
        _print_json(found, cap)
    else:
        _print_table(found, cap)
    return OVER if _is_over(found, cap) else 0


def _preview(place: str, chosen: dict[str, Any], like: str | None, *, batch: bool) -> "Preview":
    from trueup.batch.pipeline.estimating.preview import coming, left_in, observed_in, preview
    from trueup.batch.pipeline.reporting.status import standing
    from trueup.batch.pipeline.rundir.create import RunSettings, units_of
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.batch.pipeline.units.items import ItemsError
    from trueup.batch.pipeline.units.items_file import items_fault
    from trueup.contract.files.faults import ContractError

    observed = observed_in(RunDir.look(find_run(like))) if like else {}
    given = {name: value for name, value in chosen.items() if value is not None and name != "run_dir"}
    spent = 0.0
    if is_run(place):
        said = [f"--{name.replace('_', '-')}" for name in _UNITS if name in given]
        if said:
            raise RunUnavailable(f"{place}: the run already has its units; {said[0]} works only for a new run")
        run = RunDir.look(find_run(place))
        pipeline, given = run.pipeline, {**run.state.run.get("wanted", {}), **given}
        waiting = left_in(run)
        observed = observed or observed_in(run)
        spent = standing(run, running=run.is_running)["money"]["usd"]
    else:
        pipeline = read_pipeline(place)
        check_sample(given)
        wanted = RunSettings(**given)
        try:
            waiting = [coming(lambda: units_of(pipeline, wanted))]
        except ItemsError as error:
            raise ContractError([items_fault(pipeline, error)]) from None
    prices = given_prices(pipeline, given)
    return preview(pipeline, waiting, given, prices, observed, batch=batch)._replace(spent=spent)


def _is_over(found: "Preview", cap: float | None) -> bool:
    """Whether the rest exceeds the cap, which applies to the whole run."""
    return cap is not None and found.usd is not None and found.spent + found.usd > cap


def _print_json(found: "Preview", cap: float | None) -> None:
    from trueup.cli.display.run import print_json

    total = {"usd": found.usd, "most_usd": found.most_usd}
    steps = [row._asdict() for row in found.steps]
    told: dict[str, Any] = {**found._asdict(), "steps": steps, **total}
    if cap is not None:
        told["over"] = _is_over(found, cap)
    print_json(told)


def _print_table(found: "Preview", cap: float | None) -> None:
    from rich.text import Text

    from trueup.cli.terminal.output import open_console
    from trueup.cli.terminal.table import table

    console = open_console()
    rows = [
        [row.step, row.model or row.provider, f"{row.units:,}", f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}",
         _money(row.usd), _money(row.most_usd)]
        for row in found.steps
    ]  # fmt: skip
    if len(rows) > 1:
        sums = [sum(getattr(row, name) for row in found.steps) for name in ("calls", "input_tokens", "output_tokens")]
        rows.append(["total", "", "", *(f"{number:,}" for number in sums), _money(found.usd), _money(found.most_usd)])
    head = ["step", "model", "units", "calls", "tokens in", "tokens out", "cost", "all attempts"]
    if not rows:
        said = (
            "no step asks a model; nothing will be spent"
            if found.units
            else "no units are left; nothing more will be spent"
        )
        console.print(Text(said), soft_wrap=True)
        return
    for line in table(head, rows, "<<>>>>>>", console.width, whole=(2, 3, 4, 5, 6, 7)):
        console.print(Text.assemble(*line), soft_wrap=True)
    for note in (*_grounds(found), *found.notes):
        console.print(Text(note, "dim"), soft_wrap=True)
    if cap is not None and found.usd is not None:
        over = _is_over(found, cap)
        before = f", with {_money(found.spent)} spent before" if found.spent else ""
        said = f"{'above' if over else 'within'} --max-cost {cap:g}{before}"
        console.print(Text(said, "red" if over else ""), soft_wrap=True)


def _grounds(found: "Preview") -> Iterator[str]:
    """The basis of the figures."""
    from trueup.cli.terminal.layout import count

    measured = [row.step for row in found.steps if row.measured]
    if measured:
        yield f"{', '.join(measured)}: calls, tokens and passing units as measured in an earlier run"
    if len(measured) < len(found.steps):
        margin = f", ±{100 * found.margin:.1f} %" if found.margin >= 0.0005 else ""
        yield f"from the prompts of {found.sampled:,} of {count(found.units, 'unit')}{margin}"


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:,.4f}" if usd < 100 else f"${usd:,.2f}"
