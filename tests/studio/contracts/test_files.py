"""Contract files in the folders: which files are contracts, facts about each, and which files extend others."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.studio.contracts.conftest import SHOP
from tests.waiting import wait_for
from trueup.studio.contracts.files import list_contracts, open_contract
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

EXAMPLES = Path(__file__).parents[3] / "examples"


def names(desk: Any) -> list[str]:
    return [row["file"] for row in desk.get("/contracts")["files"]]


def test_only_the_examples_are_listed(served: Any, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    desk = served(folders=(tmp_path / "examples",))

    def linted() -> Any:
        """The list, once every file in it was linted: one request has a limited time, and the next one continues."""
        listed = desk.get("/contracts")
        return None if any(row["errors"] is None for row in listed["files"]) else listed

    found = wait_for(linted)
    contracts = {f"examples/contracts/{path.name}" for path in (EXAMPLES / "contracts").iterdir()}
    names = ("booking/booking", "support/triage", "faulty/shop", "vercel-ai/order")
    others = {f"examples/{name}.yaml" for name in names}
    assert {row["file"] for row in found["files"]} == contracts | others
    assert (found["complete"], found["stored"]) == (True, [])
    rows = {row["file"]: row for row in found["files"]}
    assert rows["examples/faulty/shop.yaml"]["errors"] > 0
    salon = rows["examples/contracts/salon.yaml"]
    assert (salon["name"], salon["errors"], len(salon["fingerprint"]), salon["verdicts"]) == ("salon", 0, 16, 0)
    assert str(tmp_path) not in str(found)


@pytest.mark.parametrize(
    ("name", "text", "listed"),
    [
        ("a.yaml", "rules: [n > 0]\n", True),
        ("a.yml", "extends: shop.yaml\n", True),
        ("a.toml", '[schema]\ntype = "object"\n', True),
        ("a.json", '{"schema": {"type": "object"}}', True),
        ("broken.yaml", "schema: {type: object\nrules: [", True),
        ("typo.yaml", "shema: {}\nrules: [n > 0]\n", True),
        ("schema.json", '{"type": "object", "properties": {}}', False),
        ("reply.json", '{"contract": "a", "reply": "b"}', False),
        ("role.yaml", "apiVersion: v1\nkind: Role\nrules: []\n", False),
        ("gateway.yaml", "upstreams: {a: {url: http://localhost}}\nrules: []\n", False),
        ("list.yaml", "- rules\n", False),
        ("notes.txt", "rules: [n > 0]\n", False),
        (".hidden.yaml", "rules: [n > 0]\n", False),
        ("config.yaml", "rules: [n > 0]\n", False),
    ],
)
def test_contracts_are_recognized_by_their_content(tmp_path: Path, name: str, text: str, *, listed: bool) -> None:
    inner = tmp_path / "folder" / "inner"
    inner.mkdir(parents=True)
    (inner / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder" / "shop.yaml").write_text(SHOP, encoding="utf-8")
    settings = StudioSettings(keys=(), folders=(tmp_path / "folder",))
    assert (f"folder/inner/{name}" in [each[0] for each in list_contracts(settings)[0]]) is listed
    if listed:
        assert open_contract(settings, f"folder/inner/{name}").text == text
    else:
        with pytest.raises(RequestRefused, match=r"not a contract|no file"):
            open_contract(settings, f"folder/inner/{name}")


def test_a_file_is_sent_with_its_text_hash_and_faults(served: Any, folder: Path) -> None:
    text = SHOP.replace("expr: total < 100", 'expr: "totl < 100"  # 😀 typo')
    (folder / "shop.yaml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    desk = served(role="reader", folders=(folder,))
    found = desk.get("/contracts/file", file="contracts/shop.yaml")
    assert found["text"] == text, "without a mark, and with line feeds"
    assert (found["line_ends"], found["kind"], len(found["hash"])) == ("crlf", ".yaml", 64)
    assert found["faults"], "the linter knows the fields of the schema"
    assert all(str(folder) not in str(fault) for fault in found["faults"])
    assert text.split("\n")[found["faults"][0]["line"] - 1].strip().startswith("expr")


def test_the_files_that_extend_a_file_are_listed_directly_and_indirectly(served: Any, folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "a.yaml").write_text("name: a\nextends: ../shop.yaml\n")
    (folder / "b.yaml").write_text("name: b\nextends: [inner/a.yaml]\n")
    (folder / "c.yaml").write_text("name: c\nextends: c.yaml\n")
    desk = served(folders=(folder,))
    assert desk.get("/contracts/file", file="contracts/shop.yaml")["extended_by"] == [
        "contracts/b.yaml",
        "contracts/inner/a.yaml",
    ]
    assert desk.get("/contracts/file", file="contracts/c.yaml")["extended_by"] == []
    body = {"file": "contracts/shop.yaml", "text": SHOP + "typo: 1\n", "force": True}
    saved = desk.put(
        "/contracts/file", {**body, "hash": desk.get("/contracts/file", file="contracts/shop.yaml")["hash"]}
    )
    assert saved["broken"] == ["contracts/b.yaml", "contracts/inner/a.yaml"]
    assert {row["file"]: row["extended_by"] for row in desk.get("/contracts")["files"]}["contracts/shop.yaml"] == 2


def test_a_list_shows_every_change_immediately(served: Any, folder: Path) -> None:
    (folder / "b.yaml").write_text("name: b\nextends: shop.yaml\n")
    desk = served(folders=(folder,))

    def errors() -> dict[str, int]:
        return {row["name"]: row["errors"] for row in desk.get("/contracts")["files"]}

    assert errors() == {"shop": 0, "b": 0}
    (folder / "shop.yaml").write_text(SHOP + "typo: 1\n")
    assert errors() == {"shop": 1, "b": 1}, "of a file that it extends as well"
    (folder / "shop.yaml").write_text(SHOP.replace("shop", "kiosk"))
    assert errors() == {"kiosk": 0, "b": 0}


def test_nothing_outside_the_folders_is_read(served: Any, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("name: secret\nrules: [n > 0]\n")
    (folder / "link.yaml").symlink_to(secret)
    (folder / "up.yaml").write_text("extends: ../secret.yaml\nrules: [n > 1]\n")
    (folder / "far.yaml").write_text(f"extends: {secret}\nrules: [n > 1]\n")
    (folder / ".dot.yaml").write_text("rules: [n > 2]\n")
    (folder / "dotted.yaml").write_text("extends: .dot.yaml\n")
    desk = served(folders=(folder,))
    for name in ("contracts/link.yaml", "contracts/../secret.yaml", "secret.yaml", str(secret), "contracts/.dot.yaml"):
        assert desk.client.get("/contracts/file", params={"file": name}).status_code == 404
    assert "contracts/link.yaml" not in names(desk)
    for name in ("up", "far", "dotted"):
        found = desk.get("/contracts/file", file=f"contracts/{name}.yaml")
        assert [fault["code"] for fault in found["faults"]] == ["N008"]
        assert found["fingerprint"] == ""


def test_a_list_of_very_many_files_is_limited(served: Any, folder: Path) -> None:
    for number in range(510):
        (folder / f"c{number:03}.yaml").write_text("rules: [n > 0]\n")
    desk = served(folders=(folder,))
    found = desk.get("/contracts")
    assert (len(found["files"]), found["complete"]) == (500, False)
