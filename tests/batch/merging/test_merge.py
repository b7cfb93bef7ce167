"""Lines that share an id: the output equals judging each line alone and combining them by hand."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.batch.by_line import expected, found
from tests.batch.sifting import SCHEMA, run_files, unit, write
from tests.effort import SOAK
from trueup import Contract

HOW = ("fail", "first", "last", "valid")
RULES = [
    {"name": "grown", "expr": "age >= 18", "error": "{name} is {age}"},
    {"name": "odd", "expr": "age % 2 == 1", "level": "warning"},
]
CONTRACT = Contract(SCHEMA, rules=RULES)


def error(uid: str) -> str:
    return json.dumps({"custom_id": uid, "response": None, "error": {"code": "batch_expired", "message": "Too late"}})


def output(uid: str, text: str) -> str:
    body = {
        "object": "chat.completion",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
    }
    return json.dumps({"custom_id": uid, "response": {"status_code": 200, "body": body}, "error": None})


REPLIES = [
    '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 37}', '{"name": "Bo", "age": 7}', '{"name": "Cy", "age": "51",}',
    "```json\n{\"name\": \"Di\", \"age\": 40}\n```", "Sorry.", '{"name": 1}', "",
]  # fmt: skip


def some_lines(dice: random.Random, number: int, ids: int) -> list[bytes]:
    """Lines of every kind, many of them with the same ids."""
    lines = []
    for _ in range(number):
        uid = dice.choice((f"u{dice.randrange(ids)}", "é", 'a"b\\c/d'))
        reply = dice.choice(REPLIES)
        plain = unit(uid, reply)
        kinds = {
            "plain": plain, "output": output(uid, reply), "error": error(uid), "escaped": plain.replace("u", "\\u0075", 1),
            "torn": plain[: dice.randrange(5, 60)], "array": "[1]", "blank": "  \r",
        }  # fmt: skip
        line = kinds[dice.choice(("plain",) * 5 + tuple(kinds))]
        lines.append(line.encode())
    return lines


@pytest.mark.spec("B11")
@pytest.mark.parametrize("how", HOW)
def test_every_way_of_merging_gives_what_a_person_would_choose(tmp_path: Path, how: str) -> None:
    for seed in range(300 if SOAK else 6):
        dice = random.Random(f"{how} {seed}")
        files = [
            write(tmp_path / f"{seed}-{name}.jsonl", some_lines(dice, dice.randrange(1, 60), dice.choice((3, 10, 40))))
            for name in "ab"
        ]
        size = dice.choice((150, 700, 4000, 1 << 20))
        out = tmp_path / f"out{seed}"
        run_files(
            tmp_path, [str(file) for file in files], CONTRACT, out=out.name, merge=how, range_size=size, workers=dice.choice((1, 2))
        )  # fmt: skip
        assert found(out) == expected(files, CONTRACT, how), (seed, size)


@pytest.mark.spec("B11")
@pytest.mark.parametrize(
    ("lines", "how"),
    [
        ([output("a", "no"), error("b"), output("a", '{"name": "Ada", "age": 36}')], "valid"),
        ([output("a", "no"), '{"custom_id": "b", "resp', output("a", '{"name": "Ada", "age": 36}')], "valid"),
        ([output("a", "no"), unit("z"), output("a", '{"name": "Ada", "age": 36}')], "fail"),
        ([json.dumps({"unit_id": "a", **json.loads(output("a", "no"))}), output("a", "{}")], "fail"),
        (["[1]", ""], "fail"),
    ],
)
def test_the_default_way_of_merging_depends_on_the_lines(tmp_path: Path, lines: list[str], how: str) -> None:
    file = write(tmp_path / "lines.jsonl", lines)
    ran = run_files(tmp_path, [str(file)], CONTRACT)
    assert ran.summary["merged"]["how"] == how
    assert found(ran.out) == expected([file], CONTRACT, how)


GEMINI = {"key": "g", "response": {"candidates": [{"content": {"parts": [{"text": "%s"}]}, "finishReason": "STOP"}]}}
ANTHROPIC = {"custom_id": "g", "result": {"type": "succeeded", "message": {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "%s"}]}}}  # fmt: skip
BEDROCK = {"recordId": "g", "modelInput": {}, "modelOutput": ANTHROPIC["result"]["message"]}  # type: ignore[index]
MISTRAL = {"id": "b", "custom_id": "g", "response": {"status_code": 200, "body": {"object": "chat.completion", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "%s"}}]}}, "error": None}  # fmt: skip
FAILED = [
    {"key": "g", "error": {"code": 13, "message": "Internal"}},
    {"custom_id": "g", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}}},
    {"recordId": "g", "modelInput": {}, "error": {"errorCode": 400, "errorMessage": "Bad"}},
    {"id": "b", "custom_id": "g", "response": {"status_code": 500, "body": {"message": "Oops"}}, "error": None},
]  # fmt: skip


@pytest.mark.spec("B11")
@pytest.mark.parametrize(("good", "bad"), list(zip([GEMINI, ANTHROPIC, BEDROCK, MISTRAL], FAILED, strict=True)))
def test_the_retries_of_every_provider_are_merged(tmp_path: Path, good: Any, bad: Any) -> None:
    said = json.dumps('{"name": "Ada", "age": 36}')[1:-1]
    wrong = json.dumps(good).replace("%s", "nothing")
    right = json.dumps(good).replace("%s", said)
    ran = run_files(tmp_path, [str(write(tmp_path / "lines.jsonl", [json.dumps(bad), wrong, right]))], CONTRACT)
    (row,) = ran.valid
    assert (row["unit_id"], row["data"]["age"], ran.failed) == ("g", 36, [])
    assert [[error["code"] for error in other["errors"]] for other in row["merged"]] == [["R002"], ["P001"]]
    assert row["merged"][1]["raw_response"] == "nothing"
    assert ran.summary["merged"] == {"how": "valid", "units": 1, "replies": 2, "kinds": {"failed_to_valid": 2}}


def test_a_record_keeps_enough_replies_to_be_sifted_again(tmp_path: Path) -> None:
    lines = [unit("a", f'{{"name": "{"x" * 900}", "age": {n}}}') for n in range(300)]
    ran = run_files(tmp_path, [str(write(tmp_path / "l.jsonl", lines))], merge="last", max_line=20_000)
    (row,) = ran.valid
    assert row["data"]["age"] == 299
    assert len((ran.out / "validated.jsonl").read_bytes()) <= 20_000
    assert len(row["merged"]) + row["merged_more"] == 299
    ran = run_files(tmp_path, [str(tmp_path / "l.jsonl")], merge="last", out="wide")
    assert (len(ran.valid[0]["merged"]), ran.valid[0]["merged_more"]) == (100, 199)


def test_a_merged_record_is_sifted_again_with_the_replies_that_it_keeps(tmp_path: Path) -> None:
    lines = [unit("a", "no"), unit("a"), unit("b", "no"), unit("b", "none")]
    first = run_files(tmp_path, [str(write(tmp_path / "l.jsonl", lines))], merge="valid")
    files = [str(first.out / name) for name in ("validated.jsonl", "failures.jsonl")]
    again = run_files(tmp_path, [*files, files[1]], merge="last", out="again", flips=True)
    assert again.valid[0]["merged"] == first.valid[0]["merged"]
    assert [other["raw_response"] for other in again.failed[0]["merged"]] == ["no", "no", "none"], "of both records"
    assert again.summary["flips"] == {"same": 2}


@pytest.mark.parametrize("how", ["first", "last"])
def test_a_retry_of_merged_records_keeps_every_earlier_reply(tmp_path: Path, how: str) -> None:
    """Any record can be chosen: one with the replies it replaces, or one that another record replaces."""
    lines = [unit("a", f'{{"name": "Ada", "age": {n}}}') for n in range(250)] + [unit("b", "no"), unit("b", "none")]
    first = run_files(tmp_path, [str(write(tmp_path / "l.jsonl", lines))], merge="first")
    assert (len(first.valid[0]["merged"]), first.valid[0]["merged_more"]) == (100, 149)
    retries = [unit("a", f'{{"name": "Bo", "age": {n}}}') for n in range(120)]
    more = write(tmp_path / "more.jsonl", [*retries, unit("b")])
    files = [str(first.out / "validated.jsonl"), str(first.out / "failures.jsonl"), str(more)]
    again = run_files(tmp_path, files, merge=how, out="again")
    rows = {row["unit_id"]: row for row in (*again.valid, *again.failed)}
    assert len(rows["a"]["merged"]) + rows["a"]["merged_more"] == 369
    replies = [reply["raw_response"] for reply in rows["b"]["merged"]]
    assert replies == (["none", '{"name": "Ada", "age": 36}'] if how == "first" else ["none", "no"])


@pytest.mark.parametrize("how", HOW)
def test_flips_of_lines_that_share_an_id_are_counted_after_merging(tmp_path: Path, how: str) -> None:
    """Two valid records of one unit, with a contract that refuses the first."""
    lines = [unit("a", '{"name": "Ada", "age": 1}'), unit("b"), unit("c", "no")]
    first = run_files(tmp_path, [str(write(tmp_path / "l.jsonl", lines))])
    files = [str(first.out / "validated.jsonl"), str(first.out / "failures.jsonl")]
    (tmp_path / "more.jsonl").write_bytes(
        (first.out / "validated.jsonl").read_bytes().replace(b'\\"age\\": 1', b'\\"age\\": 45')
    )
    again = run_files(tmp_path, [*files, str(tmp_path / "more.jsonl")], CONTRACT, out="again", flips=True, merge=how)
    flips = [json.loads(line) for line in (again.out / "flips.jsonl").read_bytes().splitlines()]
    changes = {
        "fail": [("a", "failed"), ("a", "failed"), ("b", "failed")],
        "first": [("a", "failed")], "last": [("a", "valid")], "valid": [("a", "valid")],
    }[how]  # fmt: skip
    assert [(flip["unit_id"], flip["now"]) for flip in flips] == changes
    assert sum(again.summary["flips"].values()) == again.summary["counts"]["units"]
