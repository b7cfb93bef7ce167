"""`trueup report`: writes a page about the results of a sift or a run."""

from pathlib import Path

import click

from trueup.cli.named import Unavailable


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Write report.html for a folder of `trueup sift` or a run of a pipeline, and print its path.

    The page is one file that loads nothing: the funnel, findings and fixes by code, and the units themselves with each fix
    marked in the reply.

    \b
      trueup report sifted
      trueup report runs/first
    """
    from trueup.batch.report import Missing, write_report
    from trueup.cli.runs import is_run, told

    try:
        if is_run(str(folder)):
            from trueup.batch.pipeline.reporting import report_run

            with told():
                click.echo(report_run(folder))
        else:
            click.echo(write_report(folder))
    except Missing as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"the report cannot be written: {error.strerror} ({error.filename})") from None
