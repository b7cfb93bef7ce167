"""`trueup report`: writes a page about the results of a sift or a run."""

import click

from trueup.cli.options.references import Unavailable


@click.command()
@click.argument("folder")
def report(folder: str) -> None:
    """Write report.html into a folder of `trueup sift` or a run of a pipeline, and print its path.

    The page is one file that loads nothing: the funnel, findings by code, field and rule, fixes, what each code means, and units
    with each fix marked in the reply. A run also shows its steps and what they cost. A sift or a run that is still
    under way is shown as far as it is.

    \b
      trueup report sifted
      trueup report runs/first
    """
    from trueup.batch.reporting.report import Missing, write_report
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
    except Missing as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"the report cannot be written: {error.strerror} ({error.filename})") from None
