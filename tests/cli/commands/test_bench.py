"""`trueup bench` as a person runs it: tables, JSON, one section, an unknown name."""

import json

from tests.cli.running import Run


def test_two_sections_are_tables_that_fit_a_terminal(run_on_terminal: Run) -> None:
    done = run_on_terminal("bench", "--only", "rules,reply", "--color", "never")
    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines.index("Business rules") < lines.index("Reply rules")
    assert "Clean reply" not in lines
    row = next(line.split() for line in lines if line.endswith("hp <= max_hp"))
    assert all(float(cell) > 0 for cell in (row[0], row[1], row[3]))
    assert any(line.startswith("compile: all reply rules") for line in lines)


def test_the_figures_can_be_one_json_document(run: Run) -> None:
    done = run("bench", "--only", "state", "--only", "clean", "--json")
    assert (done.code, done.err) == (0, "")
    figures = json.loads(done.out)
    assert list(figures["sections"]) == ["clean", "state"]
    assert figures["sections"]["clean"]["peers"]["trueup"]["outcome"] == "right"
    assert figures["sections"]["state"]["compiled"] > 0
    assert figures["versions"]["trueup"]


def test_libraries_that_are_not_installed_are_named(run: Run) -> None:
    done = run("bench", "--only", "broken")
    assert done.code == 0
    for name in ("fast_json_repair", "json_repair"):
        assert name in done.out  # as a column, or as not installed
    assert "several at once" in done.out
    assert "✗" not in [line.split()[-1] for line in done.out.splitlines() if line.startswith("code fence")]


def test_an_unknown_section_is_refused(run: Run) -> None:
    done = run("bench", "--only", "speed")
    assert done.code == 2
    assert "unknown section 'speed'; the sections are clean, broken, streaming, tools, rules, state, reply" in done.err
