"""Saving a contract file: as typed or not at all, and never over a change that the user has not seen."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small_disk import fill, small_disk
from tests.studio.contracts.conftest import SHOP
from trueup.studio.contracts import saving
from trueup.studio.contracts.files import line_ends
from trueup.studio.contracts.saving import Changed, as_written, create, save
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

NAME = "contracts/shop.yaml"
Put = Callable[..., Any]


@pytest.fixture
def put(served: Any, folder: Path) -> Put:
    desk = served(folders=(folder,))

    def send(text: str, **more: Any) -> Any:
        known = hashlib.sha256((folder / "shop.yaml").read_bytes()).hexdigest()
        return desk.client.put("/contracts/file", json={"file": NAME, "text": text, "hash": known, **more})

    return send


def test_a_text_is_saved_as_typed(put: Put, folder: Path) -> None:
    file = folder / "shop.yaml"
    file.chmod(0o640)
    text = SHOP.replace("# in euros", "# en €, ¿vale? 😀") + "\n# the end, without a line end"
    answer = put(text)
    assert answer.status_code == 200
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o777 == 0o640
    assert answer.json()["hash"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (answer.json()["faults"], answer.json()["text"]) == ([], text)
    assert [path.name for path in folder.iterdir()] == ["shop.yaml"], "nothing is left behind"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_endings_and_a_byte_order_mark_are_kept(put: Put, folder: Path, mark: bytes, end: str) -> None:
    (folder / "shop.yaml").write_bytes(mark + SHOP.replace("\n", end).encode())
    changed = SHOP.replace("100", "200")
    assert put(changed).status_code == 200
    assert (folder / "shop.yaml").read_bytes() == mark + changed.replace("\n", end).encode()


LINES = st.lists(st.sampled_from(["a: 1", "b: 2", "# €", ""]), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(LINES, st.data())
def test_saving_an_unedited_text_changes_no_byte(lines: list[str], data: st.DataObject) -> None:
    before = "".join(line + data.draw(ENDS) for line in lines).encode()
    shown = before.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert as_written(shown, before) == before


@given(LINES, LINES, st.data())
def test_any_edit_reads_back_as_typed(old: list[str], new: list[str], data: st.DataObject) -> None:
    before = "".join(line + data.draw(ENDS) for line in old).encode()
    text = "\n".join(new)
    made = as_written(text, before)
    assert made.decode().replace("\r\n", "\n").replace("\r", "\n") == text
    if line_ends(before) == "lf":
        assert b"\r" not in made


def test_a_changed_file_is_not_overwritten(put: Put, folder: Path) -> None:
    answer = put(SHOP, hash="0" * 64)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "changed")
    assert error["hash"] == hashlib.sha256(SHOP.encode()).hexdigest()
    assert (folder / "shop.yaml").read_text() == SHOP


def test_lint_errors_are_saved_only_by_force(put: Put, folder: Path) -> None:
    broken = SHOP.replace("type: number", "type: nmber")
    answer = put(broken)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "lint_errors")
    assert error["faults"][0]["code"].startswith("N")
    assert error["hint"]
    assert (folder / "shop.yaml").read_text() == SHOP
    assert put(broken, force=True).status_code == 200
    assert (folder / "shop.yaml").read_text() == broken
    assert put(SHOP).status_code == 200, "and back"


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("just words", 422, "not_a_contract"),
        ("upstreams: {a: 1}\nrules: [n > 0]\n", 422, "not_a_contract"),
        ("rules: [n > 0]\n#" + "x" * 600_000, 413, "too_large"),
        ("rules: [n > 0] # \ud83d", 400, "not_text"),
    ],
)
def test_a_text_that_is_not_a_contract_is_never_saved(
    put: Put, folder: Path, text: str, status: int, code: str
) -> None:
    known = hashlib.sha256(SHOP.encode()).hexdigest()
    body = json.dumps({"file": NAME, "text": text, "hash": known, "force": True}).encode()
    desk = put.__closure__[0].cell_contents  # type: ignore[attr-defined]
    answer = desk.client.put("/contracts/file", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert (folder / "shop.yaml").read_text() == SHOP


def test_hostile_texts_are_saved_as_text(put: Put, folder: Path) -> None:
    """Tags, anchors, references and escape codes: the linter refuses unsupported YAML, and nothing is executed."""
    for extra in (
        "x: !!python/object/apply:os.system [echo]\n",
        "a: &a [*a]\n",
        "# \x1b[31m<script>\n",
        "b: " + "[" * 600,
    ):
        answer = put(SHOP + extra, force=True)
        assert answer.status_code in (200, 422)
        assert put(SHOP, force=True).status_code == 200


def test_only_an_editor_may_save(served: Any, folder: Path) -> None:
    desk = served(role="labeller", folders=(folder,))
    assert desk.client.put("/contracts/file", json={"file": NAME, "text": SHOP, "hash": ""}).status_code == 403


def test_a_read_only_file_is_not_replaced(put: Put, folder: Path) -> None:
    (folder / "shop.yaml").chmod(0o444)
    answer = put(SHOP.replace("100", "200"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only")
    assert (folder / "shop.yaml").read_text() == SHOP


def test_saving_works_on_a_system_without_file_owners(put: Put, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.chown")
    assert put(SHOP.replace("100", "90")).status_code == 200
    assert (folder / "shop.yaml").read_text() == SHOP.replace("100", "90")


def test_a_link_inside_the_folders_is_kept(served: Any, folder: Path) -> None:
    (folder / "now.yaml").symlink_to("shop.yaml")
    desk = served(folders=(folder,))
    found = desk.get("/contracts/file", file="contracts/now.yaml")
    changed = SHOP.replace("100", "200")
    desk.put("/contracts/file", {"file": "contracts/now.yaml", "text": changed, "hash": found["hash"]})
    assert (folder / "now.yaml").is_symlink()
    assert (folder / "shop.yaml").read_text() == changed


def test_a_new_file_can_be_saved(served: Any, folder: Path) -> None:
    desk = served(folders=(folder,))

    def make(name: str, **more: Any) -> Any:
        return desk.client.put(
            "/contracts/file", json={"file": name, "text": "extends: shop.yaml\n", "create": True, **more}
        )

    assert make("contracts/kiosk.yaml").status_code == 200
    assert (folder / "kiosk.yaml").read_text() == "extends: shop.yaml\n"
    assert make("contracts/kiosk.yaml").json()["error"]["code"] == "exists"
    (folder / "pipeline").mkdir()
    (folder / "pipeline" / "config.yaml").write_text("steps: []\n")
    for name in (
        "contracts/a.txt",
        "contracts/.a.yaml",
        "contracts/config.yaml",
        "contracts/pipeline/a.yaml",
        "contracts/a\n.yaml",
    ):
        assert make(name, force=True).json()["error"]["code"] == "bad_name", name
    for name in ("elsewhere/a.yaml", "contracts/../a.yaml", "contracts/none/a.yaml", "a.yaml", "contracts/"):
        assert make(name, force=True).status_code in (400, 404), name
    assert sorted(path.name for path in folder.iterdir()) == ["kiosk.yaml", "pipeline", "shop.yaml"]
    assert not (folder.parent / "a.yaml").exists()


def test_exactly_one_of_several_concurrent_saves_succeeds(folder: Path) -> None:
    """Many clients read, add a line and save, each with the hash that it has read. No line is lost."""
    settings = StudioSettings(keys=(), folders=(folder,))
    refused: list[str] = []

    def write(who: int) -> None:
        for turn in range(8):
            while True:
                opened = saving.open_contract(settings, NAME)
                try:
                    save(settings, NAME, f"{opened.text}# {who} {turn}\n", opened.hash)
                    break
                except Changed as changed:
                    refused.append(changed.hash)

    writers = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    lines = (folder / "shop.yaml").read_text().removeprefix(SHOP).splitlines()
    assert sorted(lines) == sorted(f"# {who} {turn}" for who in range(4) for turn in range(8))


def test_a_reader_always_sees_a_complete_file(folder: Path) -> None:
    settings = StudioSettings(keys=(), folders=(folder,))
    texts = {SHOP + "# " + letter * 9_000 + "\n" for letter in "ab"} | {SHOP}
    seen: set[str] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add((folder / "shop.yaml").read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for text in sorted(texts) * 5:
        save(settings, NAME, text, saving.open_contract(settings, NAME).hash)
    done.set()
    reader.join()
    assert seen <= texts


def test_a_crash_leaves_the_old_or_the_new_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If writing is killed at any step, the file is complete; leftovers disappear with the next save."""
    settings = StudioSettings(keys=(), folders=(folder,))
    changed = SHOP.replace("100", "200")
    for step in ("fsync", "chmod", "replace", "unlink"):
        with monkeypatch.context() as patched:

            def crash(*_: Any, **__: Any) -> None:
                raise SystemExit

            patched.setattr(*((saving.os, "fsync", crash) if step == "fsync" else (Path, step, crash)))
            with contextlib.suppress(SystemExit):
                save(settings, NAME, changed, saving.open_contract(settings, NAME).hash)
        assert (folder / "shop.yaml").read_text() in (SHOP, changed)
    (folder / ".shop.yaml.0123.part").write_text("left behind")
    save(settings, NAME, SHOP + "# end\n", saving.open_contract(settings, NAME).hash)
    assert [path.name for path in folder.iterdir()] == ["shop.yaml"]


def test_a_full_disk_leaves_the_file_unchanged(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        folder = disk / "contracts"
        folder.mkdir()
        (folder / "shop.yaml").write_text(SHOP)
        settings = StudioSettings(keys=(), folders=(folder,))
        fill(disk)
        opened = saving.open_contract(settings, NAME)
        with pytest.raises(RequestRefused) as refused:
            save(settings, NAME, SHOP + "# " + "x" * 100_000 + "\n", opened.hash)
        assert (refused.value.status, refused.value.code) == (507, "disk_full")
        with pytest.raises(RequestRefused):
            create(settings, "contracts/new.yaml", SHOP + "# " + "x" * 100_000 + "\n")
        assert (folder / "shop.yaml").read_text() == SHOP
        assert [path.name for path in folder.iterdir()] == ["shop.yaml"]
