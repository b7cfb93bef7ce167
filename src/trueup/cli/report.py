"""`trueup report`: the page over what a sift left in a folder."""

from pathlib import Path

import click

from trueup.cli.named import Unavailable


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Write report.html over a folder of `trueup sift`, and print where it is.

    The page is one file that loads nothing: the funnel, findings and fixes by code, and the units themselves with each fix
    marked in the reply.

    \b
      trueup report sifted
    """
    from trueup.batch.report import Missing, write_report
    from trueup.cli.runs import is_run

    try:
        click.echo(write_report(folder))
    except Missing as error:
        if is_run(str(folder)):
            raise Unavailable(
                f"{folder}: that is a run of a pipeline; `trueup status` and `trueup tui` show it"
            ) from None
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"the report cannot be written: {error.strerror} ({error.filename})") from None
