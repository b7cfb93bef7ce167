"""Comparing two sifts or runs: every unit is counted once, in any order, and every kind of difference has an example."""

import json
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import asking, reply, run_pipeline, start, write_pipeline
from tests.batch.sifting import SCHEMA, run, unit
from tests.growth import assert_linear
from tests.waiting import wait_for
from trueup.batch.compare import Comparison, NotASift, compare, page_data
from trueup.batch.comparing import join
from trueup.batch.comparing.differences import differences
from trueup.batch.comparing.join import Mark, Spill, joined
from trueup.batch.comparing.sides import SideReader, open_side
from trueup.batch.flips import Flip, Flips
from trueup.batch.reporting.html import render
from trueup.batch.reporting.report import collect
from trueup.batch.sift import OutOfTime, SiftOptions, SiftProgress, sift
from trueup.batch.siftdir.directory import RecordSpan
from trueup.contract.contract import Contract

GROWN = [{"name": "grown", "expr": "age >= 18", "error": "{name} is {age}"}]
YOUNG = [{"name": "young", "expr": "age < 18", "error": "{name} is {age}"}]
GOOD_REPLY = '{"name": "Ada", "age": 36}'
REPLIES = {
    "same": '{"name": "Ada", "age": 36}',
    "young": '{"name": "Bo", "age": 7}',
    "broken": "I cannot answer that.",
}


def sifted(folder: Path, replies: dict[str, str], rules: Any = None) -> Path:
    folder.mkdir()
    contract = Contract(SCHEMA, rules=rules or [])
    return run(folder, [unit(uid, text) for uid, text in replies.items()], contract).out


def totals(found: Comparison) -> dict[str, int]:
    """The outcomes of the units."""
    others = {name: getattr(found, name)["units"] for name in ("other_errors", "only_in_a", "only_in_b")}
    return {name: number for name, number in {**found.flips.counts, **others, "same": found.same}.items() if number}


def test_a_folder_does_not_differ_from_itself(tmp_path: Path) -> None:
    out = sifted(tmp_path / "a", REPLIES, GROWN)
    found = compare(out, out)
    assert (found.differs, totals(found)) == (False, {"same": 3})
    assert found.sides[0] == found.sides[1]


def test_flips_are_counted_by_direction_with_an_example_of_each(tmp_path: Path) -> None:
    a, b = sifted(tmp_path / "a", REPLIES, GROWN), sifted(tmp_path / "b", REPLIES, YOUNG)
    found = compare(a, b)
    assert totals(found) == {"valid_to_failed": 1, "failed_to_valid": 1, "same": 1}
    (worse,), (better,) = found.flips.first["valid_to_failed"], found.flips.first["failed_to_valid"]
    assert (worse.unit_id, worse.was, worse.now, worse.errors_before) == ("same", "valid", "failed", ())
    assert (worse.errors_now[0]["code"], worse.errors_now[0]["rule"]) == ("B005", "young")
    assert (better.unit_id, better.errors_before[0]["message"], better.errors_now) == ("young", "Bo is 7", ())
    rules = {
        row["key"]: (row["failed"]["a"], row["failed"]["b"], row["failed"]["difference"])
        for row in found.findings["rules"]
    }
    assert rules == {"grown": (1, 0, -1), "young": (0, 1, 1)}
    (path,) = [row for row in found.findings["paths"] if row["key"] == "$.age"]
    assert (path["failed"], path["differs"]) == ({"a": 1, "b": 1, "difference": 0}, False)
    assert found.differs


def test_changed_values_are_reported_by_field(tmp_path: Path) -> None:
    a = sifted(
        tmp_path / "a",
        {"x": '{"name": "Ada", "age": 36}', "y": '{"name": "Bo", "age": 7}', "z": '{"name": "C", "age": 1}'},
    )
    b = sifted(
        tmp_path / "b",
        {"x": '{"age": 36, "name": "Ada"}', "y": '{"name": "Bob", "age": 8}', "z": '{"name": "D", "age": 1}'},
    )
    found = compare(a, b)
    assert totals(found) == {"other_value": 2, "same": 1}, "the order of keys is not a change"
    assert {path: (row["units"], row["changed"]) for path, row in found.values.items()} == {
        "$.name": (2, 2),
        "$.age": (1, 1),
    }
    assert found.values["$.age"]["example"] == {"unit_id": "y", "before": "7", "now": "8"}
    flip = found.flips.first["other_value"][0]
    assert (flip.unit_id, flip.data_before["name"], flip.data_now["name"]) in {("y", "Bo", "Bob"), ("z", "C", "D")}


def test_units_on_only_one_side_and_changed_errors_are_counted(tmp_path: Path) -> None:
    a = sifted(tmp_path / "a", {"one": "no", "both": "no", "fails": "no"})
    b = sifted(tmp_path / "b", {"fails": '{"name": 1}', "both": "no", "two": '{"name": "A", "age": 1}'})
    found = compare(a, b)
    assert totals(found) == {"only_in_a": 1, "only_in_b": 1, "other_errors": 1, "same": 1}
    assert (found.only_in_a["examples"], found.only_in_b["examples"]) == (["one"], ["two"])
    assert found.other_errors["examples"] == ["fails"]


def test_a_unit_is_found_at_any_position_and_a_repeated_id_counts_twice(tmp_path: Path) -> None:
    ids = [f"u{n}" for n in range(500)]
    replies = {uid: '{"name": "A", "age": 1}' if n % 3 else "no" for n, uid in enumerate(ids)}
    shuffled = ids[:]
    random.Random(7).shuffle(shuffled)
    a, b = sifted(tmp_path / "a", replies), sifted(tmp_path / "b", {uid: replies[uid] for uid in shuffled})
    assert totals(compare(a, b)) == {"same": 500}
    twice = tmp_path / "twice"
    twice.mkdir()
    out = run(twice, [unit(uid, text) for uid, text in replies.items()] + [unit("u1")], Contract(SCHEMA)).out
    found = compare(a, out)
    assert totals(found) == {"same": 500, "only_in_b": 1}
    assert found.only_in_b["examples"] == ["u1"]


def test_merged_records_are_compared_by_the_chosen_reply(tmp_path: Path) -> None:
    a = sifted(tmp_path / "a", REPLIES)
    b = sifted(tmp_path / "b", REPLIES)
    file = b / "validated.jsonl"
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    rows[0]["merged"] = [{"place": "x@0", "raw_response": "no", "errors": [{"code": "P001", "path": "$"}]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert totals(compare(a, b)) == {"same": 3}


@pytest.mark.parametrize(
    "damage", [b"[1]\n", b'{"unit_id": "x"\n', b"\xff\xfe\n", b'{"unit_id": 5, "data": {}}\n', b'{"data": {}}\n', b"\n"]
)
def test_damaged_lines_are_counted_with_their_position(tmp_path: Path, damage: bytes) -> None:
    a, b = sifted(tmp_path / "a", REPLIES), sifted(tmp_path / "b", REPLIES)
    size = (b / "validated.jsonl").stat().st_size
    with (b / "validated.jsonl").open("ab") as opened:
        opened.write(damage)
    found = compare(a, b)
    assert found.sides[1]["damaged"] == {"lines": 1, "places": [f"validated.jsonl@{size}"]}
    assert totals(found) == {"same": 3}


def test_half_a_surrogate_pair_is_part_of_a_record(tmp_path: Path) -> None:
    """A sift writes such records, so a comparison and a report must read them."""
    replies = {"a\ud800": GOOD_REPLY, "b": "no \ud800", "c\ud800": "no"}
    a = sifted(tmp_path / "a", replies)
    b = sifted(tmp_path / "b", {**replies, "a\ud800": "no \ud800"})
    found = compare(a, b)
    assert [side["damaged"]["lines"] for side in found.sides] == [0, 0]
    assert totals(found) == {"valid_to_failed": 1, "same": 2}
    assert totals(compare(a, a)) == {"same": 3}
    assert collect(a)["notes"] == []
    assert {shown["unit_id"] for shown in collect(a)["units"]} == {"b", "c\ud800"}


def test_an_unfinished_sift_is_compared_as_far_as_it_is(tmp_path: Path) -> None:
    from tests.batch.sifting import write
    from trueup.batch.judging.contracts import spec_of

    lines = [unit(f"u{n}") for n in range(2000)]
    file = write(tmp_path / "lines.jsonl", lines)
    spec = spec_of(options={"schema": SCHEMA})
    sift([str(file)], spec, tmp_path / "whole", SiftOptions(workers=1))

    def stop(report: SiftProgress) -> None:
        if report.tally.counts["units"]:
            raise OutOfTime("enough")

    with pytest.raises(OutOfTime):
        sift([str(file)], spec, tmp_path / "half", SiftOptions(workers=1, range_size=20_000), stop)
    found = compare(tmp_path / "whole", tmp_path / "half")
    assert (found.sides[0]["state"], found.sides[1]["state"]) == ("done", "not finished")
    assert found.same + found.only_in_a["units"] == 2000
    assert found.same > 0


def test_files_that_change_during_the_comparison_cause_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = sifted(tmp_path / "a", {"x": GOOD_REPLY, "y": "no"})
    b = sifted(tmp_path / "b", {"x": "no", "y": GOOD_REPLY})
    whole = SideReader.units
    valid = b / "validated.jsonl"
    before = valid.read_bytes()
    tears = [2]

    def torn(reader: SideReader) -> Iterator[Any]:
        """The units of a side. Then the files of B are written again, as by a retry that removes failures."""
        valid.write_bytes(before)
        yield from whole(reader)
        if reader.tally.counts["failed"] and tears[0]:
            tears[0] -= 1
            valid.write_bytes(b"")

    monkeypatch.setattr(SideReader, "units", torn)
    assert compare(a, b).flips.counts["valid_to_failed"] == 1, "a change that is over is read again"
    tears[0] = 1000
    with pytest.raises(NotASift, match="its files changed while they were compared"):
        compare(a, b)
    gone = RecordSpan("valid", tmp_path / "gone", 0, 10)
    side = open_side(a)._replace(pieces=(gone,))
    monkeypatch.undo()
    with pytest.raises(NotASift, match="its files changed while they were compared"):
        list(SideReader(side, flat=False).units())


def test_a_folder_that_is_neither_a_sift_nor_a_run_is_refused(tmp_path: Path) -> None:
    out = sifted(tmp_path / "a", REPLIES)
    with pytest.raises(NotASift, match="neither the folder of a `trueup sift` nor a run"):
        compare(out, tmp_path)
    (out / "failures.jsonl").unlink()
    with pytest.raises(NotASift, match=r"failures\.jsonl is missing"):
        compare(out, out)
    (out / "summary.json").write_text("{", "utf-8")
    with pytest.raises(NotASift, match=r"summary\.json is not the summary of a sift"):
        compare(out, out)


# Runs ----------------------------------------------------------------------------------------------------------------

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LOW = {"rules": [{"name": "low", "expr": "n < 9", "error": "n is {n}", "level": "warning"}]}
PRICES = {"prices": {"*": {"input": 1000, "output": 1000}}, "model": "m"}


def piped(folder: Path, **texts: str) -> Path:
    replies = [row for uid, text in texts.items() for row in reply("ask", uid, text, tokens=len(text))]
    made = write_pipeline(folder / "p", [asking("ask", NUMBER, "{{ unit_id }}", LOW)], replies=replies, api=PRICES)
    return run_pipeline(made, folder / "run").path


def test_two_runs_are_compared_with_their_cost(tmp_path: Path) -> None:
    a = piped(tmp_path / "a", a='{"n": 1}', b='{"n": 2}', c="no")
    b = piped(tmp_path / "b", a='{"n": 10}', b="cannot", c='{"n": "3"}')
    found = compare(a, b)
    assert totals(found) == {"other_value": 1, "valid_to_failed": 1, "failed_to_valid": 1}
    assert found.values == {
        "$.n": {
            "units": 1,
            "changed": 1,
            "added": 0,
            "removed": 0,
            "example": {"unit_id": "a", "before": "1", "now": "10"},
        }
    }
    costs = [side["money"]["usd"] for side in found.sides]
    assert costs[0] > 0 < costs[1] != costs[0]
    (rule,) = found.findings["rules"]
    assert (rule["key"], rule["warned"]) == ("low", {"a": 0, "b": 1, "difference": 1})
    (fix,) = [row for row in found.findings["fixes"] if row["key"] == "C001"]
    assert fix["fixed"] == {"a": 0, "b": 1, "difference": 1}
    assert totals(compare(a, a)) == {"same": 3}


def test_a_run_can_be_compared_with_a_sift(tmp_path: Path) -> None:
    a = piped(tmp_path / "a", a='{"n": 1}', b='{"n": 2}', c="no")
    lines = [json.dumps({"unit_id": uid, "input": {"id": uid}, "raw_response": text})
             for uid, text in {"c": "no", "b": '{"n": 3}', "a": '{"n": 1}'}.items()]  # fmt: skip
    (tmp_path / "b").mkdir()
    b = run(tmp_path / "b", lines, Contract(NUMBER)).out
    found = compare(a, b)
    assert totals(found) == {"same": 2, "other_value": 1}
    assert list(found.values) == ["$.n"]
    assert ("money" in found.sides[0], "money" in found.sides[1]) == (True, False)


def test_an_unfinished_run_is_reported(tmp_path: Path) -> None:
    a = piped(tmp_path / "a", a='{"n": 1}', b='{"n": 2}', c="no")
    b = start(tmp_path / "a" / "p", tmp_path / "b")
    found = compare(a, b)
    assert (found.sides[1]["state"], found.sides[1]["counts"]["pending"]) == ("not started", 3)
    assert totals(found) == {"only_in_a": 3}


# Parts ---------------------------------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0]) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_values_differ_exactly_if_a_difference_is_found(left: Any, right: Any) -> None:
    def plain(value: Any) -> Any:
        """Equality with numbers compared by value, and booleans that are not numbers."""
        if isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, list):
            return [plain(each) for each in value]
        return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value

    assert bool(list(differences(left, right))) == (plain(left) != plain(right))
    assert not list(differences(left, left))


def test_differences_of_deep_values_do_not_overflow_the_stack() -> None:
    left: Any = 1
    right: Any = 2
    for _ in range(5000):
        left, right = [left], [right]
    (found,) = differences(left, right)
    assert len(found.path) == 5000


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())), st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())),
       st.integers(1, 5))  # fmt: skip
def test_the_join_pairs_the_nth_of_each_id(left: list[Any], right: list[Any], parts: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        spills = []
        for number, side in enumerate((left, right)):
            spill = Spill(Path(folder) / str(number), parts)
            for place, (uid, failed) in enumerate(side):
                spill.add(uid, Mark(failed, bytes(16), ord(uid), place))
            spills.append(spill)
        found = list(joined(spills[0], spills[1], parts))
    expected: list[Any] = []
    for uid in "abcdef":
        places = [[at for at, (name, _) in enumerate(side) if name == uid] for side in (left, right)]
        turns = range(max(map(len, places)))
        expected += [(uid, *(of[turn] if turn < len(of) else None for of in places)) for turn in turns]
    got = [(chr((a or b).piece), a and a.place, b and b.place) for a, b in found]  # type: ignore[union-attr]
    assert sorted(got, key=str) == sorted(expected, key=str)


def test_the_first_flips_are_kept_and_all_are_counted() -> None:
    flips = Flips(2)
    for number in range(10):
        flips.add(Flip("", "", f"u{number}", "valid", "failed"))
    assert (flips.counts["valid_to_failed"], [flip.unit_id for flip in flips.first["valid_to_failed"]]) == (
        10,
        ["u0", "u1"],
    )
    told = flips.to_dict()
    assert (told["valid_to_failed"]["units"], told["failed_to_valid"]) == (10, {"units": 0, "examples": []})


# Growth --------------------------------------------------------------------------------------------------------------


def written(folder: Path, size: int, *, turned: bool) -> Path:
    """The folder of a sift with some number of units, every tenth of them failed; `turned` changes the order and the outcomes."""
    folder.mkdir(parents=True)
    ids = range(size - 1, -1, -1) if turned else range(size)
    with (folder / "validated.jsonl").open("w") as valid, (folder / "failures.jsonl").open("w") as failed:
        for n in ids:
            row: dict[str, Any] = {"unit_id": f"unit-{n}", "input": {"n": n}, "raw_response": "{}"}
            if (n + turned) % 10:
                valid.write(json.dumps({**row, "data": {"n": n, "more": [n % 7 + turned]}, "fixes": []}) + "\n")
            else:
                error = {"code": "V002", "path": f"$.a[{n}]", "rule": "missing", "message": "m"}
                failed.write(
                    json.dumps({**row, "failure_stage": "schema_validation", "errors": [error], "fixes": []}) + "\n"
                )
    counts = {"units": size, "valid": 0, "failed": 0, "fixed": 0}
    timings = {"seconds": 1.0, "units_per_second": 1}
    summary = {"counts": counts, "stages": {}, "codes": {}, "rules": {}, "fixes": {}, "timings": timings}
    (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
    return folder


@pytest.mark.growth
def test_comparing_takes_linear_time(tmp_path: Path) -> None:
    def make(size: int) -> tuple[Path, Path]:
        place = tmp_path / str(size)
        if not place.exists():
            written(place / "a", size, turned=False)
            written(place / "b", size, turned=True)
        return place / "a", place / "b"

    assert_linear(lambda both: compare(*both), make, 4_000)


def test_memory_does_not_grow_with_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "PART", 200_000)
    monkeypatch.setattr(join, "_AT_ONCE", 50_000)

    def peak(size: int) -> int:
        a = written(tmp_path / f"a{size}", size, turned=False)
        b = written(tmp_path / f"b{size}", size, turned=True)
        tracemalloc.start()
        try:
            found = compare(a, b)
            assert found.flips.counts == {
                "valid_to_failed": size // 10, "failed_to_valid": size // 10, "other_value": size - 2 * (size // 10)
            }  # fmt: skip
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # imported and compiled once
    small, large = peak(4_000), peak(32_000)
    assert large < 2 * small + 500_000


# The page ------------------------------------------------------------------------------------------------------------

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"></script><script>document.title='pwned'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.mark.spec("X21", "X22")
@pytest.mark.needs("browser")
def test_the_page_shows_the_differences_and_runs_no_script_from_a_reply(browser: Any, tmp_path: Path) -> None:
    hostile = json.dumps({"name": HOSTILE, "age": 7})
    a = sifted(tmp_path / "a", {HOSTILE: hostile, "y": '{"name": "Bo", "age": 20}'}, GROWN)
    b = sifted(tmp_path / "b", {HOSTILE: hostile, "y": json.dumps({"name": HOSTILE, "age": 20})})
    page = tmp_path / "compare.html"
    page.write_text(render(page_data(compare(a, b)), "compare"), "utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    assert tab.title() == "trueup compare: A and B differ"
    assert "1\nfailed → valid" in tab.locator("#tiles").inner_text()
    assert HOSTILE in tab.locator("#flips").inner_text()
    assert tab.locator("main img, main script, main iframe").count() == 0
    tab.locator("#codes th", has_text="difference").locator("button").click()
    assert tab.locator("#codes th", has_text="difference").get_attribute("aria-sort") == "descending"
    tab.locator("#codes a[href='#explain-B005']").click()
    wait_for(lambda: tab.locator("#explain-B005").evaluate("(panel) => panel.open"))
    for width in (400, 1280, 2560):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
    assert {url.partition("#")[0] for url in asked} == {page.as_uri()}
    assert said == []
    tab.close()


@pytest.mark.needs("browser")
def test_the_page_shows_long_integers_exactly_and_marks_truncated_values(browser: Any, tmp_path: Path) -> None:
    big = 12345678901234567890
    number = json.dumps({"name": "Ada", "age": big})
    a = sifted(tmp_path / "a", {"x": number, "y": json.dumps({"name": "A" * 5000, "age": 1})})
    b = sifted(tmp_path / "b", {"x": number.replace("890}", "891}"), "y": json.dumps({"name": "B" * 5000, "age": 1})})
    page = tmp_path / "compare.html"
    page.write_text(render(page_data(compare(a, b)), "compare"), "utf-8")
    tab = browser.new_page()
    tab.goto(page.as_uri())
    cells = {row.split("\t")[1]: row.split("\t")[2:] for row in tab.locator("#flips tbody").inner_text().splitlines()}
    assert cells["x"] == [number, number.replace("890}", "891}")]
    assert [cell[-3:] for cell in cells["y"]] == ["AA…", "BB…"]
    tab.close()


@pytest.mark.needs("browser")
def test_the_page_shows_costs_of_only_one_side_and_sorts_numbers_numerically(browser: Any, tmp_path: Path) -> None:
    data = page_data(compare(*[sifted(tmp_path / "a", REPLIES)] * 2))
    money = {"calls": 1000, "input_tokens": 90, "output_tokens": 7, "usd": 1.5, "unpriced": 0}
    page = tmp_path / "compare.html"
    tab = browser.new_page()

    def rows() -> dict[str, list[str]]:
        lines = tab.locator("#sides tbody").inner_text().splitlines()
        return {name: cells for name, *cells in (line.split("\t") for line in lines)}

    def measures(**both: Any) -> dict[str, list[str]]:
        told = {side: {**data[side], "money": both[side]} for side in "ab"}
        page.write_text(render({**data, **told}, "compare"), "utf-8")
        tab.goto(page.as_uri())
        return rows()

    apart = measures(a=None, b=money)
    assert (apart["calls"], apart["cost"]) == (["–", "1,000", ""], ["–", "$1.5000", ""])
    unknown = measures(a=money, b={**money, "unpriced": 1000})
    assert (unknown["calls"], unknown["cost"]) == (["1,000", "1,000", "="], ["$1.5000", "unknown", ""])
    assert measures(a=money, b={**money, "usd": 1.25})["cost"] == ["$1.5000", "$1.2500", "−0.2500"]
    tab.locator("#sides th").nth(1).locator("button").click()
    order = list(rows())
    assert order[:3] == ["calls", "tokens in", "tokens out"], "1,000 is more than 90"
    assert order[-1] == "kind", "what is not a number comes last"
    tab.locator("#sides th").nth(1).locator("button").click()
    assert list(rows())[-1] == "kind"
    tab.close()
