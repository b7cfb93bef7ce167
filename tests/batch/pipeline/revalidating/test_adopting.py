"""`revalidate --apply`: outcomes that a new pipeline refuses are valid nowhere, whatever happens while it is adopted."""

import contextlib
import errno
import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.batch.pipeline.making import (
    ANSWER,
    GOOD,
    BreakingDisk,
    Counting,
    Crash,
    Ran,
    asking,
    assert_whole,
    go,
    lines,
    reply,
    run_pipeline,
    start,
    write_pipeline,
)
from tests.effort import SOAK
from trueup.ask.clients.request import Request
from trueup.batch.disk.full_disk import DiskFull
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.reporting.status import status
from trueup.batch.pipeline.retrying.retry import retry, would_retry
from trueup.batch.pipeline.revalidating.adopting import Adopted, adopt
from trueup.batch.pipeline.revalidating.revalidate import revalidate
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.rundir.replies import replies_in
from trueup.batch.pipeline.running.run import PipelineOptions, asking_steps
from trueup.batch.pipeline.verifying.recheck import recheck
from trueup.batch.pipeline.verifying.repair import repair
from trueup.batch.pipeline.verifying.verify import verify

SEEDS = 1000 if SOAK else 4
STEPS = 1 if SOAK else 23  # every n-th operation of a disk is the last one
ITEMS = [{"id": name} for name in "abcdefgh"]
ROWS = [
    *(row for n, name in enumerate("abcdefg") for row in reply("take", name, json.dumps({"parts": ["x"] * (n + 1)}))),
    *reply("take", "h", "nothing", "[]", "sorry"),
    *reply("judge", "*", '{"answer": "yes, of course"}'),
    *reply("judge", "c__fan001", '{"answer": "no"}'),
    *reply("judge", "d__fan000", "never", "never", '{"answer": "at last, my friend"}'),
    *reply("judge", "e__fan002", "never", "never", "ever"),
    *reply("judge", "g__fan003", '{"answer": "well, why not?"}', '{"answer": "no"}'),
    *reply("last", "*", '{"answer": "fine"}'),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: these tests are about instants, not about disks."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


class NoSync(Disk):
    """A disk without waiting for syncs."""

    def sync(self, handle: int) -> None:
        """Does nothing: these tests decide themselves what a crash loses."""


class FullDisk(NoSync):
    """A disk with room for some number of writes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, handle: int, data: bytes | memoryview) -> int:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(handle, data)


def written(folder: Path, most: int = 9, longest: int = 99, bonus: int = 0, told: int = 0) -> Path:
    """A pipeline with limits on the number of parts and the characters of answers; `told` answers get a warning."""
    taken = {"type": "object", "properties": {"parts": {"type": "array", "maxItems": most}}, "required": ["parts"]}
    answer = {**ANSWER, "properties": {"answer": {"type": "string", "maxLength": longest}}}
    short = {"name": "short", "expr": f"len(answer) > {told}", "error": "short", "level": "warning"}
    steps = [
        asking("take", taken, "Take {{ unit_id }}.", {"required": ["parts"]}),
        {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"},
        asking("judge", answer, "Judge {{ part }}.", {"required": ["answer"], "rules": [short]}),
        {"name": "count", "scope": "expression", "expressions": {"size": f"len(answer) + {bonus}"}},
        asking("last", ANSWER, "About {{ size }}."),
    ]
    prices = {"prices": {"*": {"input": 3.0, "output": 7.0}}}
    shutil.rmtree(folder, ignore_errors=True)
    return write_pipeline(folder, steps, ITEMS, ROWS, api=prices, chunk_size=3, file="config.json")


def apply(path: Path, pipeline: Path, disk: Disk | None = None) -> Adopted:
    owned = OwnedRun.open(path, disk or NoSync())
    try:
        return adopt(owned, read_config(pipeline / "config.json"))
    finally:
        owned.close()


def everything_valid(path: Path) -> set[str]:
    """The ids of every unit that some file calls valid, in any step or at the end."""
    files = [*path.glob("chunks/*/*_validated.jsonl"), path / "validated.jsonl"]
    return {row["unit_id"] for file in files for row in lines(file)}


@pytest.mark.spec("B14")
def test_a_unit_that_is_refused_now_is_valid_nowhere_and_loses_no_data(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    assert len(ran.valid) == 27
    before = sum(file.stat().st_size for file in ran.path.glob("chunks/*/*_results.jsonl"))
    (ran.path / "validated.jsonl").with_suffix(".old").write_bytes((ran.path / "validated.jsonl").read_bytes())
    adopted = apply(ran.path, written(folder / "p", most=4))
    assert (adopted.units, adopted.refused) == (0, 3)  # e, f and g have five parts or more
    assert adopted.withdrawn > 50  # as a list, and each child in three steps
    assert not {unit for unit in everything_valid(ran.path) if unit[0] in "efg"}
    assert_whole(ran.path)
    found = status(RunDir.look(ran.path).state)
    failed = lines(ran.path / "failures.jsonl")
    assert {row["unit_id"] for row in failed} == {"e", "f", "g", "h"}
    assert found["valid"] == len(lines(ran.path / "validated.jsonl")) == 10
    assert found["failed"] == len(failed) == 4
    record = failed[0]
    assert (record["failure_stage"], record["errors"][0]["code"]) == ("schema_validation", "V007")
    assert record["raw_response"] == json.dumps({"parts": ["x"] * 5})
    assert (record["retry_count"], record["tries"]) == (0, {"schema_validation": 1})
    archived = {row["unit_id"] for file in ran.path.glob("chunks/*/*.bak*") for row in lines(file)}
    assert {row["unit_id"] for row in lines(ran.path / "validated.old")} <= archived | everything_valid(ran.path)
    assert before == sum(file.stat().st_size for file in ran.path.glob("chunks/*/*_results.jsonl"))
    money = RunDir.look(ran.path).state.money()
    again = go(ran.path, disk=NoSync())
    assert (again.valid, again.failed) == (lines(ran.path / "validated.jsonl"), failed)
    assert again.money == money  # the cost is kept
    assert again.result.status == "done"


@pytest.mark.spec("B14")
def test_units_that_pass_now_resume_and_units_with_another_value_are_made_again(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p", most=3, longest=5), folder / "run", disk=NoSync())
    assert ran.ids[0] == ["c__fan001"]
    again = written(folder / "p", most=4, longest=50, bonus=100)
    looked = revalidate(RunDir.look(ran.path), read_config(again / "config.json"))
    kinds = sorted({(flip.step, flip.was, flip.now) for flip in looked.flips})
    assert kinds == [("count", "valid", "valid"), ("judge", "failed", "valid"), ("take", "failed", "valid")]
    adopted = apply(ran.path, again)
    assert adopted.units == 7  # d; five answers; and the one with another size
    assert RunDir.look(ran.path).state.status == "paused"
    assert lines(ran.path / "validated.jsonl") == []  # the earlier size is not the size of this pipeline
    assert_whole(ran.path)
    provider = Counting(ROWS)
    done = go(ran.path, disk=NoSync(), provider=provider)
    assert_whole(ran.path)
    assert len(done.valid) == 10
    assert {unit["size"] for unit in done.valid if unit["unit_id"] != "c__fan001"} == {114, 118}
    asked = {(step, unit) for step, unit, _ in provider.asked}
    assert not {pair for pair in asked if pair[0] == "take"}  # its replies are stored
    assert asked >= {("last", "c__fan001"), ("judge", "d__fan000")}


@pytest.mark.spec("B14")
def test_new_warnings_are_counted_and_nothing_else_changes(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    looked = revalidate(RunDir.look(ran.path), RunDir.look(ran.path).pipeline)
    assert (looked.flips, looked.warnings) == ((), {})
    adopted = apply(ran.path, written(folder / "p", told=15))
    assert adopted == Adopted()
    row = next(row for row in RunDir.look(ran.path).state.step_rows() if row["step"] == "judge")
    assert (row["valid"], row["warnings"]) == (27, {"B005": 26})
    assert_whole(ran.path)


@pytest.mark.spec("B14", "B12")
def test_a_retry_is_withdrawn_if_an_earlier_step_now_refuses_its_unit(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    owned = OwnedRun.open(ran.path, NoSync())
    assert retry(owned, attempts=5).units == 2  # h in take, e__fan002 in judge
    owned.close()
    rows = [*ROWS, *reply("judge", "e__fan002", '{"answer": "at last"}')]
    ran = go(ran.path, disk=NoSync(), provider=Counting(rows))
    assert "e__fan002" in ran.ids[0]
    apply(ran.path, written(folder / "p", most=4))
    assert not {unit for unit in everything_valid(ran.path) if unit[0] == "e"}
    assert_whole(ran.path)


@pytest.mark.spec("B14")
def test_an_unfinished_run_is_adopted_too(folder: Path) -> None:
    path = start(written(folder / "p"), folder / "run", NoSync())
    with pytest.raises(Crash):
        go(path, PipelineOptions(workers=3), disk=BreakingDisk(90, 1))
    apply(path, written(folder / "p", most=4))
    ran = go(path, disk=NoSync(), provider=Counting(ROWS))
    assert_whole(path)
    assert {row["unit_id"] for row in ran.failed} == {"e", "f", "g", "h"}
    assert len(ran.valid) == 10


@pytest.mark.spec("B14")
def test_compressed_results_agree_and_scripts_run_again(folder: Path) -> None:
    def pipeline(longest: int) -> Path:
        schema = {**ANSWER, "properties": {"answer": {"type": "string", "maxLength": longest}}}
        rows = [*reply("ask", "a", '{"answer": "a long answer"}'), *reply("ask", "*", '{"answer": "ok"}')]
        posts = [{"type": "gzip"}, {"script": "count.py", "output": "count.txt"}]
        made = write_pipeline(
            folder / str(longest), [asking("ask", schema)], replies=rows, file="config.json", post_process=posts
        )
        (made / "count.py").write_text("import sys; print(len(open(sys.argv[1] + '/validated.jsonl').readlines()))\n")
        return made

    ran = run_pipeline(pipeline(50), folder / "run", disk=NoSync())
    assert (ran.path / "count.txt").read_text() == "3\n"
    apply(ran.path, pipeline(5))
    packed = gzip.decompress((ran.path / "validated.jsonl.gz").read_bytes())
    assert packed == (ran.path / "validated.jsonl").read_bytes()
    assert packed.count(b"\n") == 2
    assert ran.run.state.status == "paused"
    assert "post-processing" in ran.run.state.reason
    assert go(ran.path, disk=NoSync()).result.status == "done"
    assert (ran.path / "count.txt").read_text() == "2\n"
    assert apply(ran.path, pipeline(5)) == Adopted()
    assert ran.run.state.status == "done"


class Dying(Counting):
    """Ends the process when it is asked about one unit."""

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:
        if unit_id == "b":
            raise Crash
        return await super().send(step, unit_id, number, request)


@pytest.mark.spec("B14", "B18")
@pytest.mark.parametrize("retried", [False, True])
def test_a_reply_that_passes_now_counts_although_later_replies_followed_it(folder: Path, *, retried: bool) -> None:
    """Everything that needs the deciding reply finds it last: `verify`, the report, exports."""
    rows = [
        *reply("ask", "a", *["never"] * retried, '{"answer": "a long answer"}', '{"answer": "ok"}'),
        *reply("ask", "b", *["never"] * retried, '{"answer": "b"}'),
    ]

    def pipeline(longest: int) -> Path:
        schema = {**ANSWER, "properties": {"answer": {"type": "string", "maxLength": longest}}}
        api = {"retry": {"max_attempts": 1 if retried else 3, "initial_delay_seconds": 0}}
        made = [asking("ask", schema)], [{"id": "a"}, {"id": "b"}], rows
        return write_pipeline(folder / str(longest), *made, api=api, file="config.json")

    path = start(pipeline(5), folder / "run", NoSync())
    if retried:
        go(path, disk=NoSync())
        owned = OwnedRun.open(path, NoSync())
        assert retry(owned, attempts=4).units == 2
        owned.close()
    with pytest.raises(Crash):
        go(path, PipelineOptions(workers=1), disk=NoSync(), provider=Dying(rows))
    apply(path, pipeline(50))
    again = Counting(rows)
    ran = go(path, disk=NoSync(), provider=again)
    assert [unit["answer"] for unit in ran.valid] == ["a long answer", "b"]
    assert {unit for _, unit, _ in again.asked} == {"b"}
    assert_whole(path)
    assert apply(path, pipeline(50)) == Adopted()
    assert ran.money.calls == (5 if retried else 3)


@pytest.mark.spec("B14")
def test_staged_files_that_cannot_be_deleted_are_not_put_in_place_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are older than the run's current files."""
    rows = [*reply("ask", "a", '{"answer": "no"}', GOOD), *reply("ask", "*", GOOD)]
    long = {**ANSWER, "properties": {"answer": {"type": "string", "minLength": 5}}}
    strict = write_pipeline(folder / "strict", [asking("ask", long)], replies=rows, file="config.json")
    path = run_pipeline(
        write_pipeline(folder / "p", [asking("ask")], replies=rows, file="config.json"), folder / "run"
    ).path
    with monkeypatch.context() as patched:
        patched.setattr("trueup.batch.pipeline.rundir.staging.shutil.rmtree", lambda *_, **__: None)
        assert apply(path, strict).refused == 1
        assert [row["unit_id"] for row in lines(path / "failures.jsonl")] == ["a"]
        for _ in range(2):  # the second one opens the run after the first has moved the unit
            owned = OwnedRun.open(path, NoSync())
            retry(owned, attempts=4)
            owned.close()
    assert len(go(path).valid) == 3
    assert_whole(path)
    assert not list(path.glob(".revalidated-*"))


@pytest.mark.spec("B12", "B14")
def test_a_unit_without_a_prompt_is_asked_when_the_template_is_corrected(folder: Path) -> None:
    items = [{"id": "a", "x": 1}, {"id": "b"}, {"id": "c", "x": 2}]
    rows = [*reply("ask", "*", GOOD), *reply("ask", "b", "no", GOOD)]

    def written(name: str, template: str) -> Path:
        return write_pipeline(
            folder / name, [asking("ask", template=template)], items, rows, chunk_size=3, file="config.json"
        )

    ran = run_pipeline(written("p", "{{ x }}"), folder / "run")
    assert ran.ids == (["a", "c"], ["b"])
    assert would_retry(ran.run)[:3] == (0, 0, 1)
    apply(ran.path, written("corrected", "{{ x | default('nothing') }}"))
    assert would_retry(ran.run)[:3] == (1, 0, 0)
    owned = OwnedRun.open(ran.path, NoSync())
    assert retry(owned, makers=asking_steps(owned)).units == 1
    owned.close()
    provider = Counting(rows)
    again = go(ran.path, provider=provider)
    assert again.ids == (["a", "c", "b"], [])
    assert provider.asked == [("ask", "b", 0), ("ask", "b", 1)], "its attempts begin with the first reply"
    assert_whole(ran.path)


def test_files_left_by_a_killed_retry_are_not_part_of_the_next_one(folder: Path) -> None:
    rows = [*reply("ask", "a", "no", "no", "no"), *reply("ask", "*", GOOD)]
    path = run_pipeline(write_pipeline(folder / "p", [asking("ask")], replies=rows), folder / "run").path
    left = path / "chunks/retry_000"
    left.mkdir()
    (left / "ask_results.jsonl").write_text('{"unit_id": "a", "raw_response": "{\\"answer\\": \\"never said\\"}"}\n')
    owned = OwnedRun.open(path, NoSync())
    assert retry(owned, attempts=4).chunks == ("retry_000",)
    owned.close()
    assert [file.name for file in sorted(left.iterdir())] == ["retries.jsonl", "units.jsonl"]
    assert [row["unit_id"] for row in go(path).failed] == ["a"]
    assert_whole(path)


def test_memory_does_not_grow_with_the_units_that_resume(folder: Path) -> None:
    """Units move into retry chunks on the way: only the units of the next chunk are in memory."""
    few, many = (_most_memory(folder / str(units), units) for units in (100, 400))
    assert many - few < 1_000_000, f"{few:,} bytes for 100 units with 9 KB each, {many:,} for 400"


def _most_memory(folder: Path, units: int) -> int:
    """The most memory used while all refused units of a run are accepted."""
    import tracemalloc

    def written(name: str, **limit: int) -> Path:
        schema = {**ANSWER, "properties": {"answer": {"type": "string", **limit}}}
        items = [{"id": str(n)} for n in range(units)]
        rows = reply("ask", "*", json.dumps({"answer": "x" * 9000}))
        return write_pipeline(folder / name, [asking("ask", schema)], items, rows, chunk_size=20, file="config.json")

    passing = written("passing", maxLength=9000)
    path = run_pipeline(passing, folder / "run").path
    assert apply(path, written("refusing", maxLength=8999)).refused == units
    tracemalloc.start()
    try:
        found = apply(path, passing)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.units, len(found.chunks)) == (units, units // 20)
    assert len(go(path).valid) == units
    assert_whole(path)
    return most


def test_a_run_with_every_unit_refused_has_failed(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    apply(ran.path, written(folder / "p", longest=1))
    found = RunDir.look(ran.path).state
    assert (found.status, found.valid()) == ("failed", 0)
    assert lines(ran.path / "validated.jsonl") == []
    assert_whole(ran.path)
    ran = go(ran.path, disk=NoSync())
    assert (ran.result.status, ran.result.code) == ("failed", 1)
    assert "judge: none of" in ran.result.reason


@pytest.mark.spec("B14", "X46")
def test_adopting_that_crashes_at_any_step_is_done_completely_or_not_at_all(folder: Path) -> None:
    old = written(folder / "old")
    done = run_pipeline(old, folder / "done", disk=NoSync())
    new = written(folder / "new", most=4, longest=20, bonus=1)
    expected = [set(done.ids[0])]
    shutil.copytree(done.path, folder / "calm")
    apply(folder / "calm", new)
    expected.append({row["unit_id"] for row in lines(folder / "calm" / "validated.jsonl")})
    seen: set[int] = set()
    at = 1
    while True:
        at += STEPS
        path = folder / "run"
        shutil.copytree(done.path, path)
        try:
            apply(path, new, BreakingDisk(at, at, power=bool(at % 2)))
            break
        except Crash:
            pass
        OwnedRun.open(path, NoSync()).close()
        assert_whole(path)
        assert not [*path.glob(".revalidated-*")]
        valid = {row["unit_id"] for row in lines(path / "validated.jsonl")}
        assert valid in expected
        seen.add(expected.index(valid))
        shutil.rmtree(path)
    assert at > 100
    assert seen == {0, 1}


def disturbed(chance: random.Random, seed: int) -> Disk:
    """A disk that dies, loses power, fills up, or works."""
    kind = chance.randrange(5)
    if kind < 3:
        return BreakingDisk(chance.randint(1, 150), seed, power=kind == 2)
    return FullDisk(chance.randint(1, 90)) if kind == 3 else NoSync()


class History:
    """A run with random events: kills, power cuts, full disks; runs, retries, other pipelines."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.pipelines = [
            written(
                folder / f"p{n}",
                self.chance.randint(2, 9),
                self.chance.choice([5, 15, 99]),
                self.chance.randint(0, 1),
                n,
            )
            for n in range(3)
        ]
        self.path = start(self.pipelines[0], folder / "run", NoSync())
        self.provider = Counting([*ROWS, *reply("judge", "e__fan002", *["never"] * 3, '{"answer": "well"}')])
        self.recorded = 0
        self.cut = False

    def happen(self, seed: int) -> None:
        disk = disturbed(self.chance, seed)
        self.cut = getattr(disk, "_power", False)
        act = self.chance.randrange(4)
        with contextlib.suppress(Crash, DiskFull):
            if act < 2:
                go(self.path, PipelineOptions(batch=act == 1, workers=3, poll=0.001), disk=disk, provider=self.provider)
            elif act == 2:
                self._own(disk, lambda run: retry(run, attempts=self.chance.randint(3, 7)))
            else:
                new = self.chance.choice(self.pipelines)
                with contextlib.suppress(ValueError):  # a batch is not finished
                    self._own(disk, lambda run: adopt(run, read_config(new / "config.json")))

    def _own(self, disk: Disk, act: Any) -> None:
        owned = OwnedRun.open(self.path, disk)
        try:
            act(owned)
        finally:
            owned.close()

    def check(self) -> None:
        """Nothing is lost, nothing is duplicated, nothing refused is valid."""
        OwnedRun.open(self.path, NoSync()).close()
        assert_whole(self.path)
        count = sum(1 for file in self.path.glob("chunks/*/*_results.jsonl") for _ in replies_in(file))
        assert (
            count >= self.recorded or self.cut
        )  # paid replies are never dropped; only a power cut loses unsynced ones
        self.recorded = count

    def end(self) -> Ran:
        ran = go(self.path, PipelineOptions(workers=3, poll=0.001), disk=NoSync(), provider=self.provider)
        assert ran.result.status in {"done", "failed"}
        assert_whole(self.path)
        found = status(RunDir.look(self.path).state)
        assert (found["valid"], found["failed"]) == (len(ran.valid), len(ran.failed))
        roots = {row["unit_id"].partition("__")[0] for row in (*ran.valid, *ran.failed)}
        assert roots == set("abcdefgh")
        return ran


@pytest.mark.spec("B14", "B18", "X46")
@pytest.mark.timeout(14_400 if SOAK else 600)
def test_a_run_survives_kills_full_disks_retries_and_new_pipelines_in_any_order(folder: Path) -> None:
    for seed in range(SEEDS):
        history = History(folder / str(seed), seed)
        for number in range(6):
            history.happen(seed * 100 + number)
            history.check()
        history.end()
        shutil.rmtree(folder / str(seed))


@pytest.mark.spec("B14")
def test_verify_judges_a_sample_and_finds_what_the_contract_refuses(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    run = RunDir.look(ran.path)
    whole = recheck(run, None)
    assert (whole.judged, whole.problems) == (whole.stored, ())
    assert recheck(run, 5).judged == 5 * 5
    assert recheck(run, 0).judged == 0
    schema = ran.path / "config/schemas/take.json"
    schema.write_text(schema.read_text().replace('"maxItems": 9', '"maxItems": 4'))
    problems = recheck(RunDir.look(ran.path)).problems
    assert {unit for problem in problems for unit in problem.units} == {"e", "f", "g"}
    assert {(problem.kind, problem.step) for problem in problems} == {("refused", "take")}
    assert "V007" in problems[0].message
    schema.write_text(schema.read_text().replace('"maxItems": 4', '"maxItems": 9'))
    config = ran.path / "config/config.json"
    config.write_text(config.read_text().replace("len(answer) + 0", "len(answer) + 1"))
    problems = recheck(RunDir.look(ran.path), None).problems
    assert {(problem.kind, problem.step) for problem in problems} == {("differs", "count")}


@pytest.mark.spec("B14")
def test_verify_sees_refused_units_that_are_still_published(folder: Path) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    published = (ran.path / "validated.jsonl").read_bytes()
    apply(ran.path, written(folder / "p", most=4))
    (ran.path / "validated.jsonl").write_bytes(published)
    (problem,) = verify(RunDir.look(ran.path))
    assert (problem.kind, len(problem.units)) == ("orphan", 17)
    assert "collected again" in "".join(repair(ran.path, NoSync()).done)
    assert_whole(ran.path)


@pytest.mark.spec("B14")
@pytest.mark.parametrize("name", ["validated.jsonl", "failures.jsonl"])
def test_results_that_differ_from_the_chunks_are_found_and_written_again(folder: Path, name: str) -> None:
    ran = run_pipeline(written(folder / "p"), folder / "run", disk=NoSync())
    gathered = (ran.path / name).read_bytes()
    (ran.path / name).write_bytes(gathered.partition(b"\n")[2])
    (problem,) = verify(ran.run)
    assert (problem.kind, problem.message) == ("missing", f"1 units are missing in {name}")
    assert repair(ran.path, NoSync()).left == ()
    assert (ran.path / name).read_bytes() == gathered
    (ran.path / name).unlink()
    assert [problem.kind for problem in verify(ran.run)] == ["missing"]
    assert repair(ran.path, NoSync()).left == ()
    assert (ran.path / name).read_bytes() == gathered
