"""`trueup run --estimate`: the expected calls, tokens and cost of a run, before it costs anything; nothing is asked or written."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import ANSWER, GOOD, asking, reply, run_pipeline, start, write_pipeline
from tests.cli.running import COMMAND, Run, clean_environment
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

ITEMS = [{"id": f"i{n}", "text": "word " * 30} for n in range(10)]
TEXT = "Say {{ unit_id }}: {{ text }}"
LIST = {
    "type": "object", "required": ["parts"],
    "properties": {"parts": {"type": "array", "minItems": 2, "items": {"type": "string"}}},
}  # fmt: skip


def estimated(run: Run, *options: str) -> dict[str, Any]:
    ran = run("run", "pipeline", "--estimate", "--json", *options)
    assert ran.code == 0, ran
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.spec("B17")
def test_an_estimate_names_calls_tokens_and_price_by_step(run: Run, tmp_path: Path) -> None:
    steps = [asking("first", template=TEXT), asking("second", template=f"{TEXT} {{{{ answer }}}}")]
    write_pipeline(tmp_path / "pipeline", steps, ITEMS, api={"provider": "openai", "model": "m"})
    found = estimated(run, "--price", "10/100")
    first, second = found["steps"]
    assert (first["step"], first["units"], first["calls"], first["most_calls"]) == ("first", 10, 10, 30)
    assert 10 * 30 <= first["input_tokens"] <= 10 * 100  # 150 characters each, in English
    assert first["output_tokens"] == 10 * 400
    assert second["input_tokens"] > first["input_tokens"], "the prompt holds the answer, too"
    price = (first["input_tokens"] * 10 + first["output_tokens"] * 100) / 1e6
    assert first["usd"] == pytest.approx(price)
    assert first["most_usd"] == pytest.approx(3 * price)
    assert found["usd"] == pytest.approx(first["usd"] + second["usd"])
    assert found["units"] == found["sampled"] == 10
    assert not (tmp_path / "runs").exists()


def test_a_batch_costs_half_and_a_sample_its_share(run: Run, tmp_path: Path) -> None:
    write_pipeline(
        tmp_path / "pipeline", [asking("ask", template=TEXT)], ITEMS, api={"provider": "openai", "model": "m"}
    )
    whole = estimated(run, "--price", "10/100")
    assert estimated(run, "--price", "10/100", "--batch")["usd"] == pytest.approx(whole["usd"] / 2)
    assert estimated(run, "--price", "10/100", "--sample", "4")["usd"] == pytest.approx(whole["usd"] * 0.4)


def test_an_unknown_price_is_shown_as_unknown(run: Run, tmp_path: Path) -> None:
    write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, api={"provider": "openai", "model": "of-my-own"})
    found = estimated(run)
    assert found["usd"] is None
    assert "the price of of-my-own is not known; pass --price IN/OUT, or set api.prices" in found["notes"]
    ran = run("run", "pipeline", "--estimate")
    assert "unknown" in ran.out


@pytest.mark.parametrize(("cap", "code", "word"), [("0.0001", 3, "above"), ("100", 0, "within")])
def test_an_estimate_above_the_cap_is_exit_code_3(run: Run, tmp_path: Path, cap: str, code: int, word: str) -> None:
    write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, api={"provider": "openai", "model": "m"})
    ran = run("run", "pipeline", "--estimate", "--price", "10/100", "--max-cost", cap)
    assert ran.code == code
    assert f"{word} --max-cost {cap}" in ran.out


def test_many_units_are_counted_and_a_sample_of_their_prompts_is_rendered(run: Run, tmp_path: Path) -> None:
    items = [{"id": f"i{n}", "text": "word " * (n % 50)} for n in range(1000)]
    write_pipeline(
        tmp_path / "pipeline", [asking("ask", template=TEXT)], items, api={"provider": "openai", "model": "m"}
    )
    found = estimated(run, "--price", "1/1")
    assert (found["units"], found["sampled"]) == (1000, 200)
    assert 0 < found["margin"] < 0.2
    exact = sum(len(f"Say i{n}: {'word ' * (n % 50)}") for n in range(1000)) / 3
    assert found["steps"][0]["input_tokens"] == pytest.approx(exact + 8 * 1000, rel=2 * found["margin"] + 0.05)


def test_a_list_written_by_a_model_counts_as_its_minimum_and_the_estimate_says_so(run: Run, tmp_path: Path) -> None:
    split = {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"}
    steps = [asking("list", LIST, rules={"required": ["parts"]}), split, asking("judge", template="{{ part }}")]
    write_pipeline(tmp_path / "pipeline", steps, ITEMS, api={"provider": "openai", "model": "m"})
    found = estimated(run, "--price", "1/1")
    assert [row["units"] for row in found["steps"]] == [10, 20]
    assert any("the model decides how many items 'parts' has" in note for note in found["notes"])


def test_an_earlier_run_shows_lengths_rates_and_lists(run: Run, tmp_path: Path) -> None:
    """Two of three units pass after four calls, and each list has three items: the estimate is the same for all."""
    split = {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"}
    steps = [asking("list", LIST, rules={"required": ["parts"]}), split, asking("judge", template="{{ part }}")]
    three = '{"parts": ["x", "y", "z"]}'
    replies = [
        *reply("list", "i0", three, tokens=70), *reply("list", "i1", "no", three, tokens=70), *reply("list", "i2", "no", "no", "no", tokens=70),
        *(row for unit in ("i0", "i1") for n in range(3) for row in reply("judge", f"{unit}__fan00{n}", GOOD, tokens=20)),
    ]  # fmt: skip
    folder = write_pipeline(tmp_path / "pipeline", steps, ITEMS[:3], replies)
    ran = run_pipeline(folder, tmp_path / "earlier")
    assert ran.money.calls == 12
    write_pipeline(folder, steps, [{"id": f"n{n}"} for n in range(300)], api={"provider": "openai", "model": "m"})
    found = estimated(run, "--price", "1/1", "--like", "earlier")
    first, second = found["steps"]
    assert (first["units"], first["calls"], first["output_tokens"]) == (300, 600, 600 * 70)
    assert (second["units"], second["calls"], second["input_tokens"]) == (600, 600, 600 * 20)
    assert found["notes"] == []


def test_the_rest_of_a_run_is_estimated(run: Run, tmp_path: Path) -> None:
    folder = write_pipeline(
        tmp_path / "pipeline", [asking("ask", template=TEXT)], ITEMS, api={"provider": "openai", "model": "m"}
    )
    start(folder, tmp_path / "made", price="1/1")
    ran = run("run", "made", "--estimate", "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["steps"][0]["units"] == 10
    replies = [row for item in ITEMS for row in reply("ask", str(item["id"]), GOOD)]
    done = run_pipeline(write_pipeline(tmp_path / "other", [asking("ask")], ITEMS, replies), tmp_path / "done")
    assert done.result.status == "done"
    ran = run("run", "done", "--estimate")
    assert ran.code == 0
    assert ran.out == "no units are left; nothing more will be spent\n"


def test_units_with_a_reply_in_an_unfinished_step_are_not_estimated_again(run: Run, tmp_path: Path) -> None:
    """A cap stops a run in the middle of a step: the rest of that step and all of the next one are left."""
    replies = [
        row for item in ITEMS for step in ("one", "two") for row in reply(step, str(item["id"]), GOOD, tokens=1000)
    ]
    steps = [asking("one", template=TEXT), asking("two", template="{{ answer }}")]
    write_pipeline(tmp_path / "pipeline", steps, ITEMS, replies, chunk_size=10)
    stopped = run("run", "pipeline", "--run-dir", "part", "--price", "1/1", "-j", "1", "--max-cost", "0.006")
    assert stopped.code == 3, stopped
    asked = len((tmp_path / "part/chunks/chunk_000/one_results.jsonl").read_text().splitlines())
    assert 0 < asked < 10
    ran = run("run", "part", "--estimate", "--json")
    found = json.loads(ran.out)
    assert [row["units"] for row in found["steps"]] == [10 - asked, 10]
    assert found["units"] == 10
    assert found["spent"] == pytest.approx(asked * 0.002)
    cap = found["usd"] + found["spent"] / 2  # enough for the rest, but not for the whole
    ran = run("run", "part", "--estimate", "--max-cost", str(cap))
    assert ran.code == 3, ran
    assert "spent before" in ran.out
    refused = run("run", "part", "--estimate", "--sample", "3")
    assert (refused.code, refused.out) == (2, "")
    assert "the run already has its units; --sample works only for a new run" in refused.err


def test_prompts_that_cannot_be_rendered_are_reported_and_cost_nothing(run: Run, tmp_path: Path) -> None:
    template = "{{ 10 // (n - 3) }} {{ text }}"
    items = [{**item, "n": n} for n, item in enumerate(ITEMS)]
    write_pipeline(
        tmp_path / "pipeline", [asking("ask", template=template)], items, api={"provider": "openai", "model": "m"}
    )
    found = estimated(run, "--price", "1/1")
    assert (found["units"], found["steps"][0]["units"], found["steps"][0]["calls"]) == (10, 9, 9)
    assert any("ask: 1 of 10 units fail because their prompts cannot be rendered" in note for note in found["notes"]), (
        found["notes"]
    )


def test_a_prompt_that_needs_a_real_reply_is_guessed_and_the_estimate_says_so(run: Run, tmp_path: Path) -> None:
    steps = [asking("first", template=TEXT), asking("second", template="{{ 1 // (answer | length - 1) }}")]
    short = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["a", "long"]}},
        "required": ["answer"],
    }
    steps[0]["_schema"] = short
    write_pipeline(tmp_path / "pipeline", steps, ITEMS, api={"provider": "openai", "model": "m"})
    found = estimated(run, "--price", "1/1")
    assert found["steps"][1]["calls"] == 10
    assert any("second: prompts that need a real reply are assumed to have" in note for note in found["notes"])


def test_replies_from_a_cache_count_as_calls_of_the_next_run() -> None:
    from trueup.batch.pipeline.estimating.preview import StepFigures
    from trueup.batch.pipeline.rundir.state import Money

    assert StepFigures(10, 10, Money(calls=5, output_tokens=50, cached=5), 10).calls == 1.0


def test_if_no_unit_of_the_earlier_run_passed_a_step_the_next_has_no_calls(run: Run, tmp_path: Path) -> None:
    steps = [asking("first"), asking("second")]
    folder = write_pipeline(tmp_path / "pipeline", steps, ITEMS, reply("first", "*", "no"))
    assert run_pipeline(folder, tmp_path / "earlier").valid == []
    found = estimated(run, "--like", "earlier")
    assert [(row["units"], row["calls"]) for row in found["steps"]] == [(10, 30), (0, 0)]
    assert "first: no unit passed in the earlier run, so nothing after it is counted" in found["notes"]


def test_stored_replies_that_pass_now_cost_nothing_and_withdrawn_ones_do_not_raise_the_price_of_calls(
    run: Run, tmp_path: Path
) -> None:
    """Refused, then accepted again: the first step has its replies, the second is asked once for each unit."""
    replies = [*reply("one", "*", GOOD), *reply("two", "*", GOOD)]
    strict = {"required": ["answer"], "rules": [{"name": "no", "expr": "answer == 'no'", "error": "not no"}]}
    loose = write_pipeline(tmp_path / "pipeline", [asking("one"), asking("two")], ITEMS, replies, chunk_size=10)
    write_pipeline(tmp_path / "strict", [asking("one", rules=strict), asking("two")], ITEMS, replies, chunk_size=10)
    run_pipeline(loose, tmp_path / "made")
    for name in ("strict", "pipeline"):
        assert run("revalidate", "made", "--pipeline", name, "--apply").code == (name == "strict")
    found = json.loads(run("run", "made", "--estimate", "--json", "--like", "made").out)
    assert [(row["step"], row["units"], row["calls"]) for row in found["steps"]] == [("two", 10, 10)]
    assert run("run", "made").code == 0
    found = estimated(run, "--like", "made")
    assert [(row["units"], row["calls"]) for row in found["steps"]] == [(10, 10), (10, 10)]


def test_no_model_is_asked_and_no_key_is_needed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        api = {"provider": "openai", "model": "m", "base_url": f"{server.url}/v1"}
        write_pipeline(tmp_path / "pipeline", [asking("ask", ANSWER)], ITEMS, api=api)
        estimated(run, "--price", "1/1")
        assert server.requests == []


def test_like_without_estimate_is_refused(run: Run, tmp_path: Path) -> None:
    write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS)
    ran = run("run", "pipeline", "--like", "runs/x")
    assert ran.code == 2
    assert "--like needs --estimate" in ran.err


def test_the_table_fits_a_narrow_terminal(run: Run, tmp_path: Path) -> None:
    write_pipeline(
        tmp_path / "pipeline",
        [asking("a_step_with_quite_a_long_name")],
        ITEMS,
        api={"provider": "openai", "model": "m" * 40},
    )
    ran = run("run", "pipeline", "--estimate", "--price", "1/1", COLUMNS="80")
    rows = ran.out.splitlines()[:2]
    assert all(len(row) <= 80 for row in rows), ran.out
    assert "$" in rows[1]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_closed_output_pipe_is_not_a_fault_of_the_pipeline(tmp_path: Path, form: tuple[str, ...]) -> None:
    write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS)
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [*COMMAND, "run", "pipeline", "--estimate", *form],
        cwd=tmp_path, env=clean_environment(), stdout=writing, stderr=subprocess.PIPE, timeout=300, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")
