"""The two phases as filters in a pipe: nothing is lost, nothing hangs, and a double-wrapped reply is opened in one way everywhere."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from tests.acceptance.octobatch.reading import by_id, flat_rows, lines, rows
from tests.cli.running import COMMAND, Run, clean_environment
from trueup import Contract
from trueup.batch.judging.filters import Filter, RulesFilter

SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer"}, "tone": {"type": "string"}},
    "required": ["score"],
}
INNER = {"score": 5, "tone": "warm"}
BROKEN = json.dumps(INNER)[:-1] + ",}"
WRAPPED: dict[str, Any] = {
    "object": INNER,
    "text": json.dumps(INNER),
    "fence": f"```json\n{json.dumps(INNER)}\n```",
    "bare-fence": f"```\n{json.dumps(INNER)}\n```",
    "trailing-comma": BROKEN,
    "prose": f"Here is the result: {json.dumps(INNER)} Hope this helps!",
    "all-of-it": f"Sure!\n```json\n{BROKEN}\n```\nAnything else?",
}


@pytest.mark.spec("B1", "B3")
@pytest.mark.parametrize("response", WRAPPED.values(), ids=WRAPPED)
def test_a_double_wrapped_reply_is_opened_by_every_command(run: Run, tmp_path: Path, response: Any) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    reply = json.dumps({"response": response})
    checked = run("check", "--schema", "s.json", "--json", "-", stdin=reply)
    assert json.loads(checked.out)["data"] == INNER
    flat = run(
        "schema", "s.json", "--log", "log.txt", stdin=lines({"unit_id": "a", "city": "Oslo", "response": response})
    )
    assert flat_rows(flat.out) == [{"unit_id": "a", "city": "Oslo", **INNER}]
    assert "[FIX] W007 $ " in (tmp_path / "log.txt").read_text("utf-8")
    stored = run("schema", "s.json", stdin=lines({"unit_id": "a", "input": {"city": "Oslo"}, "raw_response": reply}))
    assert (rows(stored.out)[0]["data"], rows(stored.out)[0]["input"]) == (INNER, {"city": "Oslo"})
    (tmp_path / "units.jsonl").write_text(lines({"unit_id": "a", "raw_response": reply}))
    run("sift", "units.jsonl", "--schema", "s.json", "--out", "out")
    assert rows(tmp_path / "out/validated.jsonl")[0]["data"] == INNER


def test_a_run_opens_it_as_well(run: Run, folder: Path) -> None:
    good = {"personality_consistency": 0.9, "mood_responsiveness": 0.9, "tone": "warm"}
    forms = [text.replace(json.dumps(INNER), json.dumps(good)).replace(BROKEN, json.dumps(good)[:-1] + ",}")
             for text in WRAPPED.values() if isinstance(text, str)]  # fmt: skip
    names = ["smith", "elder", "pedlar", "guard", "bard"]
    replies = [{"step": "score", "unit_id": name, "raw_response": json.dumps({"response": text})}
               for name, text in zip(names, forms[1:], strict=True)]  # fmt: skip
    (folder / "npc/replies.jsonl").write_text(lines(*replies))
    assert run("run", "npc", "--run-dir", "run").code == 0
    units = rows(folder / "run/validated.jsonl")
    assert [unit["personality_consistency"] for unit in units] == [0.9] * 5
    assert all("W007" in {fix["code"] for fix in unit["_metadata"]["score"]["fixes"]} for unit in units)


def test_a_field_of_the_schema_is_not_an_envelope(run: Run, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"response": {"type": "object"}, "score": {"type": "integer"}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    unit = lines({"unit_id": "a", "response": {"score": 5}})
    assert run("schema", "s.json", stdin=unit).out == unit
    # and an object that already fits stays unchanged, with any content
    unit = lines({"unit_id": "a", "score": 4, "response": {"score": 5}})
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    assert run("schema", "s.json", stdin=unit).out == unit


def test_fields_next_to_the_envelope_count_with_those_in_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({**SCORE, "required": ["score", "tone"]}))
    unit: dict[str, Any] = {"unit_id": "a", "tone": "from the input", "response": {"score": "5"}}
    assert flat_rows(run("schema", "s.json", stdin=lines(unit)).out) == [
        {"unit_id": "a", "tone": "from the input", "score": 5}
    ]
    unit["response"] = 'Here: {"score": 5,} Done.'
    assert rows(run("schema", "s.json", stdin=lines(unit)).out)[0]["score"] == 5
    unit["response"] = {"score": 5, "tone": "the model's own"}  # the reply wins
    assert rows(run("schema", "s.json", stdin=lines(unit)).out)[0]["tone"] == "the model's own"


BESIDE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"response": [{"score": 5}]}, {"score": 5}),  # a list with one object in it
    ({"response": {"score": 5}, "result": {"score": 6}}, {"score": 5, "result": {"score": 6}}),  # two envelopes
    ({"response": {"score": 5}, "result": None}, {"score": 5, "result": None}),
    ({"score": "high", "response": {"score": 5}}, {"score": 5}),  # the reply wins over a field of the same name
    ({"score": 1, "response": 7}, {"score": 1, "response": 7}),  # not an envelope: it contains no object
    ({"score": 1, "response": None}, {"score": 1, "response": None}),
    ({"response": {"score": 5, "unit_id": "x", "note": 1}}, {"score": 5, "note": 1}),  # the unit keeps its id
]


@pytest.mark.parametrize(("given", "gives"), BESIDE, ids=[json.dumps(given) for given, _ in BESIDE])
def test_no_field_next_to_an_envelope_is_lost(
    run: Run, tmp_path: Path, given: dict[str, Any], gives: dict[str, Any]
) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    ran = run("schema", "s.json", stdin=lines({"unit_id": "a", "city": "Oslo", **given}))
    assert flat_rows(ran.out) == [{"unit_id": "a", "city": "Oslo", **gives}]


@pytest.mark.parametrize(
    "response", [5, None, "5", "no JSON", [], [1], {"response": {"score": 5}}, {"error": {"score": 5}}]
)
def test_a_text_without_an_answer_fails(run: Run, tmp_path: Path, response: Any) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    unit = {"unit_id": "a", "city": "Oslo", "response": response}
    (record,) = rows(run("schema", "s.json", stdin=lines(unit)).err)
    assert json.loads(record["raw_response"]) == unit


def test_a_key_given_twice_inside_a_text_is_recorded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    unit = {"unit_id": "a", "city": "Oslo", "response": '{"score": 5, "score": 6}'}
    ran = run("schema", "s.json", "--log", "log.txt", stdin=lines(unit))
    assert flat_rows(ran.out) == [{"unit_id": "a", "city": "Oslo", "score": 6}]
    log = (tmp_path / "log.txt").read_text("utf-8")
    assert "[FIX] S032 $ " in log
    assert "[WARN] a: P003 $ " in log


def test_a_class_that_forbids_other_fields_judges_what_is_in_the_envelope(tmp_path: Path) -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        score: int

    unit = {"unit_id": "a", "city": "Oslo", "response": '{"score": "5"}'}
    valid, failed, _, _ = Filter(Contract(Closed), 1 << 20).sort(lines(unit).encode(), 0)
    assert (flat_rows(valid.decode()), failed) == ([{"unit_id": "a", "city": "Oslo", "score": 5}], b"")


def test_a_closed_schema_judges_what_is_in_the_envelope(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({**SCORE, "additionalProperties": False}))
    unit = {"unit_id": "a", "city": "Oslo", "response": '```json\n{"score": "5"}\n```'}
    assert flat_rows(run("schema", "s.json", stdin=lines(unit)).out) == [{"unit_id": "a", "city": "Oslo", "score": 5}]


def test_trailing_commas_of_a_line_are_removed(run: Run, tmp_path: Path) -> None:
    properties = {"tags": {"type": "array"}, "n": {"type": "integer"}}
    (tmp_path / "s.json").write_text(json.dumps({"type": "object", "properties": properties}))
    line = '{"unit_id": "u2", "tags": ["a", "b",],}\n'
    ran = run("schema", "s.json", "--log", "log.txt", stdin=line)
    assert flat_rows(ran.out) == [{"unit_id": "u2", "tags": ["a", "b"]}]
    assert (tmp_path / "log.txt").read_text("utf-8").count("[FIX] S001 ") == 2
    ran = run(
        "schema", "s.json", stdin=line.replace("[", "{").replace("]", "}")
    )  # more than a comma is wrong: not JSON
    assert (rows(ran.err)[0]["failure_stage"], rows(ran.err)[0]["errors"][0]["code"]) == ("parse", "U001")
    ran = run("schema", "s.json", stdin='{"unit_id": "u2", "n": "x",}\n{"unit_id": "u3", "n": [1\n')
    wrong, cut = rows(ran.err)
    assert (wrong["raw_response"], wrong["errors"][0]["path"]) == ('{"unit_id": "u2", "n": "x",}', "$.n")
    assert [fix["code"] for fix in wrong["fixes"]] == ["S001"]
    assert (cut["unit_id"], cut["errors"][0]["code"]) == ("u3", "U001")  # a line that was cut off is not repaired


MALFORMED = {
    "bracket": '{"unit_id": "u", "tags": ["a"', "brace": '{"unit_id": "u", "n": 1', "string": '{"unit_id": "u", "n": "x}',
    "wrong-bracket": '{"unit_id": "u", "n": 1]', "colon": '{"unit_id": "u", "n" 1}',
}  # fmt: skip


@pytest.mark.spec("B3")
@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_line_fails_and_is_kept(run: Run, tmp_path: Path, line: str) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"type": "object"}))
    ran = run("schema", "s.json", stdin=line + "\n")
    (record,) = rows(ran.err)
    assert (ran.code, ran.out) == (1, "")
    assert (record["unit_id"], record["failure_stage"], record["raw_response"]) == ("u", "parse", line)


FENCED = {
    "json-fence": '```json\n{"score": 3}\n```', "fence": '```\n{"score": 3}\n```', "bare": '{"score": 3}',
    "preamble": 'Here you go:\n```json\n{"score": 3}\n```', "words": 'The result: {"score": 3}',
}  # fmt: skip


@pytest.mark.spec("B1")
def test_json_is_extracted_from_the_text_around_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    units = [{"unit_id": name, "raw_response": text} for name, text in FENCED.items()]
    ran = run("schema", "s.json", stdin=lines(*units))
    assert {name: (row["data"], row["raw_response"]) for name, row in by_id(ran.out).items()} == {
        name: ({"score": 3}, text) for name, text in FENCED.items()
    }


FIELDS = st.dictionaries(
    st.sampled_from(["city", "mood", "_seed", "_metadata", "note", "text", "input", "Score", "retry_count"]),
    st.one_of(st.none(), st.integers(-9, 9), st.sampled_from(["Oslo", "5", "{", "a | b"]), st.lists(st.integers(), max_size=2)),
)  # fmt: skip
SCORES = st.one_of(st.integers(), st.sampled_from(["5", 5.0, "high", None]))
OBJECTS = st.fixed_dictionaries(
    {"score": SCORES}, optional={"tone": st.sampled_from(["warm", 3]), "extra": st.booleans()}
)
TEXTS = st.tuples(OBJECTS, st.sampled_from(["{}", "```json\n{}\n```", "Here: {} Done.", "{}"])).map(
    lambda pair: pair[1].replace("{}", json.dumps(pair[0]))
)


@st.composite
def units(draw: st.DrawFn) -> dict[str, Any]:
    unit = {"unit_id": draw(st.sampled_from(["a", "b-c"])), **draw(FIELDS)}
    kind = draw(st.sampled_from(["flat", "object", "list", "text", "raw"]))
    if kind == "flat":
        return {**unit, **draw(OBJECTS)}
    if kind == "raw":
        wrapped = draw(st.booleans())
        text = draw(TEXTS)
        return {**unit, "raw_response": json.dumps({"response": text}) if wrapped else text}
    return {**unit, "response": draw({"object": OBJECTS, "list": st.lists(OBJECTS, max_size=2), "text": TEXTS}[kind])}


SCHEMAS = [Filter(Contract(schema), 1 << 20) for schema in (SCORE, {**SCORE, "additionalProperties": False})]
RULES = RulesFilter(Contract(True, rules=["score < 100"]), 1 << 20)


@pytest.mark.spec("B3", "B5")
@given(units(), st.sampled_from(SCHEMAS))
def test_every_input_field_is_in_the_output_or_recorded(unit: dict[str, Any], first: Filter) -> None:
    line = lines(unit).encode()
    for phase in (first, RULES):
        valid, failed, notes, _ = phase.sort(line, 0)
        assert bool(valid) != bool(failed)
        if failed:
            record = json.loads(failed)
            raw = unit.get("raw_response", record["raw_response"])
            assert raw == record["raw_response"]
            assert "raw_response" in unit or json.loads(raw) == unit, "as the first phase got it"
            return
        out = json.loads(valid)
        for name in json.loads(line):
            said = any(name in note for note in notes) or any("W007" in note for note in notes)
            kept = name in out or (isinstance(out.get("input"), dict) and name in out["input"])
            assert kept or (said and name in {"response", "Score", "text", "input"}), (name, out, notes)
        for name in ("city", "mood", "_seed", "_metadata", "note"):
            if name in unit:
                place = out["input"] if name not in out else out
                assert place[name] == unit[name]
        line = valid


@pytest.mark.spec("B3", "B19")
@pytest.mark.parametrize("count", [84, 85, 86, 1_000])
def test_a_batch_of_any_size_goes_through_the_pipe(folder: Path, count: int) -> None:
    """The validators of the document hung at 85 units and more when they were used in a pipe."""
    units = [
        {"unit_id": f"u{i}", "pad": "x" * 2_000, "personality_consistency": "0.9" if i % 3 else 0.1,
         "mood_responsiveness": 0.9 if i % 5 else "no number", "tone": "warm"}
        for i in range(count)
    ]  # fmt: skip
    (folder / "units.jsonl").write_text(lines(*units))
    command = shlex.join(COMMAND)
    schema = f"{command} schema npc/schemas/score.json < units.jsonl 2> structure.jsonl"
    rules = f"{command} rules npc/config.yaml --step score > valid.jsonl 2> meaning.jsonl"
    subprocess.run(f"{schema} | {rules}", shell=True, cwd=folder, env=clean_environment(), timeout=60, check=False)
    structure, meaning, valid = (by_id(folder / f"{name}.jsonl") for name in ("structure", "meaning", "valid"))
    assert {*structure, *meaning, *valid} == {unit["unit_id"] for unit in units}
    assert len(structure) + len(meaning) + len(valid) == count
    assert {record["failure_stage"] for record in structure.values()} == {"schema_validation"}
    assert {record["failure_stage"] for record in meaning.values()} == {"validation"}
    assert all(unit["personality_consistency"] == 0.9 and len(unit["pad"]) == 2_000 for unit in valid.values())


def start(folder: Path, *args: str, stdin: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *args],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=clean_environment(),
    )


def piped(
    folder: Path, first_limit: tuple[str, ...], second_limit: tuple[str, ...]
) -> tuple[int | None, int, list[str]]:
    """Both phases in a pipe whose input stays open: how the first one ended, if it did, how the second one ended, and their output."""
    good = {"unit_id": "a", "personality_consistency": 1, "mood_responsiveness": 1, "tone": "warm"}
    first = start(folder, "schema", "npc/schemas/score.json", *first_limit)
    second = start(folder, "rules", "npc/config.yaml", "--step", "score", *second_limit, stdin=first.stdout)
    with first, second:
        assert first.stdin is not None
        first.stdin.write(lines(good).encode())
        first.stdin.flush()  # the input never ends
        out, _ = second.communicate(timeout=60)
        code = first.wait(60) if first_limit else first.poll()
    return code, second.returncode, [row["unit_id"] for row in rows(out.decode())]


@pytest.mark.spec("B19", "B21")
def test_the_time_limits_of_the_two_phases_are_separate(folder: Path) -> None:
    """In a pipe both phases run side by side. The output before a limit is kept, and the second phase ends with the first."""
    assert piped(folder, ("--timeout", "2"), ()) == (3, 0, ["a"])
    assert piped(folder, (), ("--timeout", "5")) == (None, 3, ["a"]), "the first one has no limit and still waits"


@pytest.mark.spec("B3")
def test_a_unit_without_an_id_is_warned_about(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCORE))
    given = lines({"score": 1}, {"unit_id": "a", "score": 2}, {"score": 3}, {"raw_response": '{"score": 4}'})
    ran = run("schema", "s.json", "--log", "log.txt", stdin=given)
    assert ran.code == 0
    assert [row.get("score", row.get("data")) for row in rows(ran.out)] == [1, 2, 3, {"score": 4}]
    (warning,) = rows(ran.err)  # every line of stderr is JSON, and a warning is not a failure record
    assert (warning["units"], warning["warnings"][0]["code"]) == (3, "U005")
    assert "failure_stage" not in warning
    assert warning["warnings"][0]["message"] == "3 units have no unit_id"
    assert (tmp_path / "log.txt").read_text("utf-8").count("[WARN] stdin@") == 3
    again = run("rules", "r.yaml", stdin=ran.out)
    assert again.code == 2  # there is no such file
    (tmp_path / "r.yaml").write_text("rules: ['score < 3']")
    again = run("rules", "r.yaml", stdin=ran.out)
    assert [("warnings" in row, row.get("failure_stage", "")) for row in rows(again.err)][-1] == (True, "")
