"""Bars with their numbers at any width: no number is cut, no line is too long."""

import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.batch.sifting import SCHEMA, unit, write
from trueup.batch.counting.tally import UnitTally
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import SiftOptions, SiftProgress, sift
from trueup.cli.progress.sift import parts_of
from trueup.cli.terminal.bars import drawn

PARTS = [" 42%", "4,200 of 10,000", "12 failed", "35/s", "2:45 left", "8 calls under way", "V005×9 B002×3 U003×1"]


def lines(parts: list[str], width: int, done: int = 42, total: int = 100) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True, color_system=None).print(drawn(parts, done, total, width))
    return out.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_numbers_are_broken_between_them(width: int) -> None:
    found = lines(PARTS, width)
    assert max(map(cell_len, found)) <= width
    text = " ".join(" ".join(found).split())
    assert [part for part in PARTS if part.strip() not in text] == []
    assert (len(found) == 1) == (width >= 120)


def test_a_sift_with_nothing_to_do_is_done() -> None:
    assert "━" * 10 in lines(PARTS, 60, 0, 0)[0]


@pytest.mark.spec("B20")
def test_a_resumed_sift_computes_its_rate_and_time_left_from_this_start() -> None:
    """90 of 100 bytes were judged before. This start took ten seconds for two more, so eight take forty."""
    tally = UnitTally()
    tally.counts.update({"units": 92_000, "valid": 92_000})
    parts = parts_of(SiftProgress("judging", 92, 100, 10.0, tally, 9, 90_000, 90))
    assert "200/s" in parts
    assert "0:40 left" in parts
    assert "92,000 valid" in parts
    started = parts_of(SiftProgress("judging", 90, 100, 3.0, tally, 9, 92_000, 90))
    assert not [part for part in started if part.endswith("left")], "nothing of this start is judged yet"


def test_a_resumed_sift_reports_what_an_earlier_start_has_judged(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit(number) for number in range(40)])
    spec, options = spec_of(options={"schema": SCHEMA}), SiftOptions(workers=1, range_size=500)

    def stop(report: SiftProgress) -> None:
        if report.tally.counts["units"] >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sift([str(file)], spec, tmp_path / "out", options, stop)
    reports: list[SiftProgress] = []
    summary = sift([str(file)], spec, tmp_path / "out", options, reports.append).summary
    first = reports[0]
    assert 20 <= first.kept_units < first.tally.counts["units"] <= 40
    assert 0 < first.kept_bytes < first.done
    assert summary["counts"]["units"] == 40
    done_now, seconds = 40 - first.kept_units, summary["timings"]["seconds"]
    assert summary["timings"]["units_per_second"] <= done_now / max(seconds - 0.001, 1e-6) + 1


@pytest.mark.parametrize("width", [60, 80])
def test_the_bar_of_a_sift_fits(width: int) -> None:
    tally = UnitTally()
    tally.counts.update({"units": 1_234_567, "valid": 1_200_000, "failed": 34_567, "fixed": 99_999})
    report = SiftProgress("judging", 50, 100, 65.0, tally)
    found = lines(parts_of(report), width)
    assert max(map(cell_len, found)) <= width
    text = " ".join(found)
    for part in ("judging  50%", "1,200,000 valid", "34,567 failed", "99,999 fixed", "18,993/s", "1:05 left"):
        assert part in text
