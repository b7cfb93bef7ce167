"""The table of all endpoints, page by page."""

from collections.abc import Iterator

from trueup.studio.api import about, backtests, contracts, judging, live, runs, samples, verdicts
from trueup.studio.endpoint import Endpoint


def endpoints() -> Iterator[Endpoint]:
    """Every endpoint of the API."""
    for module in (about, judging, contracts, verdicts, backtests, runs, live, samples):
        yield from module.ENDPOINTS
