"""Odd values, slow texts and full houses: whatever a client sends, the studio soon answers with a message, and keeps
serving the others.
"""

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.batch import sifting
from tests.batch.pipeline.making import GOOD, asking, go, reply, start, write_pipeline
from tests.store.conftest import database, server
from tests.studio.conftest import KEYS, SECRETS, Desk, serving
from tests.waiting import wait_for
from trueup.contract.contract import Contract
from trueup.contract.files.documents import LIMITS
from trueup.store.open import open_store
from trueup.store.records import Note, new_id
from trueup.studio import answering, bodies
from trueup.studio.app import Application
from trueup.studio.contracts import saving
from trueup.studio.endpoint import TEXTS, Endpoint, JsonLines, Nothing
from trueup.studio.judging.cursor import locate
from trueup.studio.judging.names import properties
from trueup.studio.settings import Key, StudioSettings
from trueup.studio.stores import stores_in

__all__ = ["database", "server"]

on_each_database = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.needs("database"))], indirect=True
)
READER = {"authorization": f"Bearer {SECRETS['reader']}"}

# -- odd values ----------------------------------------------------------------------------------

ODD = [
    "\0", "a\0b", "\ud800", "a\udfffb", "\ufeff", "x" * 300, "é" * 5000, "../" * 400, "house/" + "x" * 300 + ".yaml", "house/\0.yaml", "'; DROP TABLE verdicts; --", "_%",
    "\\", "~", "~~~1", "-1", "--help", "9" * 17 + ".x", "1.x\0y", "1.\ud800", "0.", "9" * 40, "nan", "1e999", "0001-01-01", "9999-12-31T23:59:59+00:00", "[]", "null", "\r\n", "𝟙𝟚",
    "failed~a~b~²", "failed~chunk_000~ask~99999999999999", "999999w", "2026-01-31T00:00:00-23:59",
]  # fmt: skip
NUMBERS = [0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**40]
LONG = ("/backtest", "/tune", "/tune/apply", "/runs/compare", "/runs/retry", "/runs/resume")  # each starts a process


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a contract, a run and a sift."""
    root = tmp_path_factory.mktemp("top") / "house"
    root.mkdir()
    (root / "good.yaml").write_text("name: good\nschema: {type: object}\n")
    rows = [*reply("ask", "u0", "nothing"), *reply("ask", "*", GOOD)]
    units = [{"id": f"u{number}"} for number in range(3)]
    go(
        start(
            write_pipeline(root.parent / "p", [asking("ask")], units, rows, api={"retry": {"max_attempts": 1}}),
            root / "run",
        )
    )
    sifting.run(root, [sifting.unit("s1", '{"name": "Ada", "age": 36}')], out="sift")
    return root


def usual(verdict: str) -> dict[str, Any]:
    return {
        "file": "house/good.yaml", "text": "schema: {type: array}", "contract": "schema: {type: object}", "reply": "{}", "kind": ".yaml", "line": 1, "column": 1, "hash": "x",
        "run": "house/run", "a": "house/run", "b": "house/sift", "id": verdict, "facet": "model", "after": f"1.{verdict}", "name": "good", "code": "V001", "suggestions": [],
        "items": [{"verdict": verdict, "outcome": "right"}],
    }  # fmt: skip


def ask(client: httpx.Client, endpoint: Endpoint, verdict: str, given: dict[str, Any]) -> httpx.Response:
    fields = endpoint.takes.__struct_fields__
    asked = {name: value for name, value in {**usual(verdict), **given}.items() if name in fields}
    if endpoint.path.startswith(("/verdicts", "/queue", "/runs", "/backtest", "/tune")):  # filters there
        asked = {name: value for name, value in asked.items() if name in given or name not in ("contract", "code")}
        if not endpoint.path.startswith("/backtest"):
            asked = {name: value for name, value in asked.items() if name in given or name != "text"}

    def spelled(value: Any) -> str:
        return quote(str(value).encode("utf-8", "surrogatepass"), safe="")

    path = re.sub(r"{(\w+)[^}]*}", lambda found: spelled(asked.pop(found[1], "x")), endpoint.path)
    if endpoint.method == "GET":
        return client.get(f"{path}?{'&'.join(f'{name}={spelled(value)}' for name, value in asked.items())}")
    return client.request(endpoint.method, path, content=json.dumps(asked).encode())


def odd_for(endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Every field of an endpoint with every odd value; few of them where each answer takes a process."""
    some = [*ODD[:4], ODD[8]] if endpoint.path in LONG else [*ODD, *NUMBERS]
    for field in endpoint.takes.__struct_fields__:
        for value in some:
            if field == "items":
                for part in ("verdict", "outcome", "subject", "note", "drawn"):
                    yield {"items": [{"verdict": "x", "outcome": "right", part: value}]}
            else:
                yield {field: [value] if field == "suggestions" else value}


@on_each_database
def test_no_unusual_value_makes_the_studio_fail(served: Any, house: Path, database: Callable[[], str]) -> None:
    """For any value in a field, the answer is data or a refusal with a message; afterwards everything can be read as
    before.
    """
    address, verdict, contract = database(), new_id(), Contract(schema=True)
    with open_store(address) as store:
        store.note(Note(verdict, contract.check("{}"), "r1", 1, "t", "u", "m", "good", "s", "ok", 1, 0.1, fingerprint=contract.fingerprint, rules=contract))  # fmt: skip
    desk: Desk = served(folders=(house,), store=address)
    is_second = address.startswith("postgresql")
    for endpoint in desk.app._table:
        if is_second and not endpoint.path.startswith(("/verdicts", "/labels", "/queue", "/live", "/contracts/")):
            continue  # endpoints that do not use a database were tried with the other one
        for given in odd_for(endpoint):
            answer = ask(desk.client, endpoint, verdict, given)
            assert answer.status_code < 500, (endpoint.path, given, answer.text)
            assert '"internal"' not in answer.text, (endpoint.path, given, answer.text)
            assert str(house.parent) not in answer.text, (endpoint.path, given)
    for path in ("/verdicts", "/verdicts/counts", "/queue", "/live", "/contracts", f"/verdicts/{verdict}", "/contracts/precision?name=good", "/contracts/history?name=good"):  # fmt: skip
        assert desk.client.get(path).status_code == 200, path


def test_a_verdict_whose_id_has_a_slash_can_be_opened_and_labelled(served: Any, tmp_path: Path) -> None:
    names = ["a/b", "a%2Fb", "a?b#c", "é 😀", "x/again"]
    with open_store(tmp_path / "v.db") as store:
        for name in names:
            store.record_verdict(Contract(schema=True).check("{}"), id=name)
    desk: Desk = served(store=str(tmp_path / "v.db"))
    assert {row["id"] for row in desk.get("/verdicts")["rows"]} == set(names)
    for name in names[:-1]:
        assert desk.get(f"/verdicts/{quote(name, safe='')}")["row"]["id"] == name
        assert desk.get(f"/verdicts/{quote(name, safe='')}/again")["reply"] == "{}"
        done = desk.post("/labels", {"items": [{"verdict": name, "outcome": "wrong"}]})
        assert desk.get(f"/verdicts/{quote(name, safe='')}")["row"]["mine"] == "wrong"
        assert desk.post("/labels/undo", done) == {"undone": 1}
        assert desk.get(f"/verdicts/{quote(name, safe='')}")["row"]["mine"] == ""


# -- slow texts ----------------------------------------------------------------------------------

SLOW = [
    (".yaml", "a" + " " * 60_000 + "\nb"), (".yaml", "a" * 60_000 + " \nb"), (".yaml", "a" + " " * 60_000), (".toml", "[" + " " * 60_000 + "x\ny"), (".toml", "[" * 60_000 + "\ny"),
    (".json", '{"rules": ["' + "a" * 60_000 + " "), (".json", "[" + '"a' * 30_000), (".json", "'" * 59_999), (".yaml", "a: [" + "\n'x" * 20_000), (".yaml", "a: '" + "\nx" * 100_000),
    (".yaml", "- " * 30_000), (".yaml", 'a: "' + "\\" * 60_001), (".yaml", "? " * 30_000 + "\n" * 1000),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SLOW)))
def test_the_place_of_a_cursor_is_found_in_one_pass(number: int) -> None:
    """A regular expression that backtracks again and again blocks the whole process: one such line of 5 KB took a
    minute and a half.
    """
    kind, text = SLOW[number]
    lines = text.split("\n")
    assert locate(text, kind, len(lines) - 1, len(lines[-1])).role in ("key", "value")


def test_keys_and_tables_in_every_form_are_read() -> None:
    assert locate("'a b' : x\n", ".yaml", 0, 9)[:3] == (("a b",), "value", "x")
    assert locate("plain key  : x", ".yaml", 0, 14)[:3] == (("plain key",), "value", "x")
    assert locate("a:b\nc", ".yaml", 1, 1).role == "key"
    assert locate("[ rules ] # why\nx = 1", ".toml", 1, 5)[:2] == (("rules", "x"), "value")
    assert locate("[[ examples ]]\n[[examples]]\nre", ".toml", 2, 2)[:2] == (("examples", 1), "key")
    assert locate("a: ['x\n y', {b: 1", ".yaml", 1, 10)[:2] == (("a", 1, "b"), "value")
    assert locate("a: [\"x\\\"\n y\", {'b''c': 1", ".yaml", 1, 16)[:2] == (("a", 1, "b''c"), "value")


def test_members_of_a_schema_are_collected_once() -> None:
    """References that branch at each step would be followed more often than there are atoms."""
    defs: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 50} for n in range(30)}
    defs["d30"] = {"properties": {"deep": {"type": "string"}}}
    root = {"$ref": "#/$defs/d0", "$defs": defs}
    assert set(properties(root, root)) == {"deep"}
    round_about = {"$ref": "#", "properties": {"own": {}}}
    assert set(properties(round_about, round_about)) == {"own"}


def test_a_text_that_is_not_a_contract_is_not_searched(served: Any) -> None:
    desk: Desk = served(role="reader")
    text = "a: 1\n" * (LIMITS[".yaml"] // 5 + 1)
    assert desk.post("/complete", {"text": text, "line": 3, "column": 1})["items"] == []
    assert desk.post("/hover", {"text": text, "line": 3, "column": 1}) == {"text": None}


def test_half_a_surrogate_pair_in_a_filter_does_not_leave_a_request_waiting(served: Any, tmp_path: Path) -> None:
    """Its specification could not be written, so the process waited for it, and the page waited for the process."""
    (tmp_path / "good.yaml").write_text("name: good\nschema: {type: object}\n")
    with open_store(tmp_path / "v.db") as store:
        store.record_verdict(Contract(schema=True).check("{}"))
    desk: Desk = served(folders=(tmp_path,), store=str(tmp_path / "v.db"))
    file = f"{tmp_path.name}/good.yaml"
    for path, more in (
        ("/tune", {}),
        ("/backtest", {"text": "name: good\nschema: {type: array}\n"}),
    ):
        answer = desk.client.post(path, content=json.dumps({"file": file, "model": "\ud800", **more}).encode())
        assert "result" in json.loads(answer.text.splitlines()[-1]), answer.text[-500:]


def test_a_file_with_mixed_line_endings_is_saved_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    before = b"# x\r\n# x\n" * 20_000 + b"a: 1\r\n"
    now = "# x\n" * 39_999 + "b: 2\n# y\na: 1\n"
    written = saving.as_written(now, before)
    assert written.decode().replace("\r\n", "\n") == now
    assert written.startswith(b"# x\r\n# x\n" * 19_000)
    assert written.endswith(b"a: 1\r\n")
    monkeypatch.setattr(saving, "_MOST_COMPARED", 0)
    assert saving.as_written("a\nc\nb\n", b"a\r\nb\n") == b"a\r\nc\nb\n", "also where the middle is not compared"


def test_a_private_file_is_never_readable_by_others_during_saving(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "good.yaml"
    file.write_text("name: good\nschema: {type: object}\n")
    file.chmod(0o600)
    seen: list[int] = []
    before = saving._as_before

    def look(part: Path, path: Path) -> None:
        seen.append(part.stat().st_mode & 0o777)
        before(part, path)

    monkeypatch.setattr(saving, "_as_before", look)
    desk: Desk = served(folders=(tmp_path,))
    name = f"{tmp_path.name}/good.yaml"
    opened = desk.get("/contracts/file", file=name)
    desk.put("/contracts/file", {"file": name, "text": opened["text"] + "# more\n", "hash": opened["hash"]})
    assert seen == [0o600]
    assert file.stat().st_mode & 0o777 == 0o600


# -- the first URL --------------------------------------------------------------------------------


def test_checking_whether_the_first_url_works_does_not_use_it_up(served: Any) -> None:
    desk: Desk = served()
    url = desk.first_url
    looked = httpx.head(url)
    assert (looked.status_code, "set-cookie" in looked.headers) == (200, False)
    assert "set-cookie" in httpx.get(url).headers


# -- full houses ---------------------------------------------------------------------------------


class House:
    """A studio with an endpoint that waits, a quick one, and a stream that waits."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = 0
        self.streams = 0
        self._lock = threading.Lock()

    def table(self) -> list[Endpoint]:
        def slow(studio: Any, asked: Nothing, who: Key) -> dict[str, int]:
            """Waits."""
            with self._lock:
                self.begun += 1
            self.go.wait(60)
            return {}

        def quick(studio: Any, asked: Nothing, who: Key) -> dict[str, int]:
            """Answers."""
            return {"quick": 1}

        def stream(studio: Any, asked: Nothing, who: Key) -> JsonLines:
            """Waits, and then streams."""
            with self._lock:
                self.streams += 1
            self.go.wait(60)
            return JsonLines(iter([{}]))

        return [
            Endpoint("POST", "/slow", "read", slow, most=TEXTS, slow=True),
            Endpoint("GET", "/quick", "read", quick),
            Endpoint("POST", "/stream", "read", stream, streams=True, slow=True),
        ]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[House, str, Application]]:
    made = House()
    monkeypatch.setattr("trueup.studio.app.endpoints", made.table)
    app = Application(StudioSettings(keys=KEYS))
    with serving(app) as url:
        yield made, f"{url}/api", app
        made.go.set()


@contextlib.contextmanager
def waiting(url: str, path: str, count: int) -> Iterator[list[Any]]:
    """This many requests at the same time, and their answers at the end."""
    answers: list[Any] = []

    def post() -> None:
        with contextlib.suppress(httpx.HTTPError):
            answers.append(httpx.post(f"{url}{path}", headers=READER, timeout=60))

    threads = [threading.Thread(target=post) for _ in range(count)]
    for each in threads:
        each.start()
    yield answers
    for each in threads:
        each.join(60)


def test_slow_answers_do_not_delay_other_clients(full: tuple[House, str, Application]) -> None:
    house, url, _ = full
    with waiting(url, "/slow", answering.SLOW_AT_ONCE + 5) as answers:
        wait_for(lambda: house.begun == answering.SLOW_AT_ONCE, "as many are begun as there are threads for them")
        for _ in range(3):
            assert httpx.get(f"{url}/quick", headers=READER, timeout=60).json() == {"quick": 1}
        assert house.begun == answering.SLOW_AT_ONCE
        house.go.set()
    assert [answer.status_code for answer in answers] == [200] * (answering.SLOW_AT_ONCE + 5)


def test_work_for_a_client_that_has_left_is_not_started(full: tuple[House, str, Application]) -> None:
    house, url, _ = full
    with waiting(url, "/slow", answering.SLOW_AT_ONCE):
        wait_for(lambda: house.begun == answering.SLOW_AT_ONCE, "all threads are taken")
        for _ in range(4):  # a page that asks again after each key, and cancels
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{url}/slow", headers=READER, timeout=httpx.Timeout(60, read=0.3))
        house.go.set()
    assert httpx.post(f"{url}/slow", headers=READER, timeout=60).status_code == 200
    assert house.begun == answering.SLOW_AT_ONCE + 1


def test_concurrent_requests_for_long_work_are_limited(full: tuple[House, str, Application]) -> None:
    house, url, app = full
    more = answering.STREAMS + 6
    with waiting(url, "/stream", more) as answers:
        wait_for(lambda: len(answers) == 6, "those beyond the limit are refused at once")
        assert {answer.status_code for answer in answers} == {503}
        house.go.set()
    assert house.streams == answering.STREAMS
    wait_for(lambda: app._threads.streaming == 0, "each is counted until it ends")


def test_long_bodies_share_a_memory_limit(
    full: tuple[House, str, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, url, app = full
    app._threads.room = bodies.Room(2_000_000)

    def post() -> httpx.Response:
        return httpx.post(f"{url}/slow", headers=READER, content=b" " * 1_200_000 + b"{}", timeout=60)

    first: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: first.append(post()))
    thread.start()
    wait_for(lambda: house.begun == 1, "the first one is held")
    second = post()
    assert (second.status_code, second.json()["error"]["code"]) == (503, "busy")
    assert httpx.post(f"{url}/slow", headers=READER, content=b"{]", timeout=60).status_code == 400, "a short one fits"
    house.go.set()
    thread.join(60)
    assert first[0].status_code == 200
    assert post().status_code == 200, "there is room again"


# -- stores that go ------------------------------------------------------------------------------


def test_a_deleted_store_accepts_no_labels(served: Any, tmp_path: Path) -> None:
    """Its file is still open: labels would be stored, and lost with the process."""
    folder = tmp_path / "secret-place"
    folder.mkdir()
    with open_store(folder / "v.db") as store:
        name = store.record_verdict(Contract(schema=True).check("{}"))
    desk: Desk = served(store=str(folder / "v.db"))
    label = {"items": [{"verdict": name, "outcome": "right"}]}
    assert desk.post("/labels", label)
    for file in folder.iterdir():
        file.unlink()
    for answer in (desk.client.post("/labels", json=label), desk.client.get("/verdicts")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
        assert answer.json()["error"]["message"] == "The store cannot be used: there is no such store."
    with open_store(folder / "v.db") as store:
        other = store.record_verdict(Contract(schema=True).check("[]"))
    assert [row["id"] for row in desk.get("/verdicts")["rows"]] == [other], "the one that is there now"


def test_a_pipe_or_a_link_is_not_used_as_the_store_of_a_folder(tmp_path: Path) -> None:
    """Opening a pipe waits for a writer: `trueup studio` would never start."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    for folder in (inside, outside):
        open_store(folder / "verdicts.db").close()
    os.mkfifo(inside / "pipe.db")
    (inside / "folder.db").mkdir()
    (inside / "link.db").symlink_to(outside / "verdicts.db")
    (inside / "loop.db").symlink_to("loop.db")
    for number in range(1200):
        (inside / f"reply-{number}.json").touch()
    assert stores_in([inside]) == [inside / "verdicts.db"]


@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@127.0.0.1:1/private-name", "{}/none.db", "{}"])
def test_the_error_for_a_store_that_cannot_be_opened_has_no_path(served: Any, tmp_path: Path, address: str) -> None:
    desk: Desk = served(store=address.format(tmp_path), role="reader")
    answer = desk.client.get("/verdicts")
    assert answer.status_code == 503
    for part in ("s3cret", "ada@", "private-name", str(tmp_path)):
        assert part not in answer.text


# -- runs ----------------------------------------------------------------------------------------


def test_a_run_is_retried_without_the_modules_of_the_current_folder(
    served: Any, house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a studio in somebody else's folder does not run code from that folder."""
    (tmp_path / "trueup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    desk: Desk = served(folders=(house,))
    desk.client.post("/runs/retry", json={"run": "house/run", "code": "none-such"})
    *_, last = desk.lines("/runs/compare", {"a": "house/run", "b": "house/sift"})
    assert "result" in last
    assert not (tmp_path / "ran").exists()


def test_an_abandoned_comparison_leaves_nothing_behind(served: Any, house: Path, tmp_path: Path) -> None:
    """Its process ends, and its temporary files are removed."""
    import tempfile

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        desk: Desk = served(folders=(house,))
        with desk.client.stream("POST", "/runs/compare", json={"a": "house/run", "b": "house/sift"}) as answer:
            assert answer.status_code == 200
            assert list(tmp_path.iterdir())
        wait_for(lambda: not desk.app.studio.works.works and not list(tmp_path.iterdir()), "all of it is gone")
