"""`trueup report`: write a page about the results of a sift or a run."""

import click

from trueup.cli.options.references import Unavailable


@click.command()
@click.argument("folder")
def report(folder: str) -> None:
    """Write report.html into the folder of a sift or a pipeline run, and print its path.

    The page is one self-contained file: the funnel, findings by code, field and rule, fixes, the meaning of each
    code, and units with each fix marked in the reply. For a run, it also shows the steps and their cost. For a sift or a run that
    is still in progress, it shows the results so far.

    \b
      trueup report sifted
      trueup report runs/first
    """
    from trueup.batch.reporting.report import NotASift, write_report
    from trueup.cli.commands.compare import place_of
    from trueup.cli.options.runs import is_run, told

    place = place_of(folder)
    try:
        if is_run(str(place)):
            from trueup.batch.pipeline.reporting.report import report_run

            with told():
                click.echo(report_run(place))
        else:
            click.echo(write_report(place))
    except NotASift as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"{error.filename}: {error.strerror}") from None  # the page, or a file that it is made from
