"""`trueup init`: make a run directory from a pipeline, with a snapshot and units. No model is asked yet."""

import click

from trueup.cli.options.runs import make_run, over_config, told


@click.command()
@click.argument("pipeline")
@over_config
def init(pipeline: str, **wanted: str | int | None) -> int:
    """Create a run of PIPELINE, a folder with a config.yaml, without starting it.

    The configuration is linted. Templates, schemas and items are copied and hashed. Units are created and divided
    into chunks. Exit code 0: created, 2: the pipeline has errors.

    \b
      trueup init pipelines/reviews --run-dir runs/first --max-units 20
      trueup run runs/first
    """
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe

    with told():
        path = make_run(pipeline, **wanted)  # type: ignore[arg-type]  # the options of over_config
        state = RunDir.look(path).state
    steps = " → ".join(state.steps)
    write(f"{safe(str(path))}: {count(state.run['units'], 'unit')} in {count(len(state.chunks), 'chunk')}, {steps}\n")
    return 0
