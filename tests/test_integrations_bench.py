"""The bench of integrations runs on a few replies, and its material is consistent."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPLIES = 72


@pytest.fixture(scope="module")
def bench(root: Path) -> Iterator[Any]:
    sys.path.insert(0, str(root / "bench"))
    import integrations

    yield integrations
    sys.path.remove(str(root / "bench"))
    for name in [name for name in sys.modules if name.startswith("integrations")]:
        sys.modules.pop(name)


def cells(lines: list[str]) -> list[list[str]]:
    """The rows of a Markdown table."""
    return [line.strip("|").split("|") for line in lines[2:] if line]


def test_the_parser_reads_every_kind_of_reply_rightly(bench: Any) -> None:
    rows = cells(bench.readings(bench.replies(REPLIES)))
    assert len(rows) == 13
    assert all(0 < int(number) == int(ours) for _, number, ours, *_ in rows)


def test_the_frames_are_measured(bench: Any) -> None:
    contract = bench.Contract(bench.Order.model_json_schema())
    assert len(cells(bench.columns(contract, bench.replies(REPLIES), 1))) == 6


def test_the_capability_saves_the_requests_for_repairable_replies(bench: Any) -> None:
    rows = {name.strip(): rest for name, *rest in cells(bench.agents(bench.replies(REPLIES), 1))}
    requests = {name: float(row[2]) for name, row in rows.items()}
    assert requests["faulty, but repairable, with the capability"] == 1 < requests["faulty, but repairable, without"]
    assert all(len({number.strip() for number in row[3].split(" of ")}) == 1 for row in rows.values())
