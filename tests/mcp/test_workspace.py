"""Names of files: only files inside the served folders, by the normal form of their names."""

from pathlib import Path

import pytest

from tests.mcp.stage import PEOPLE, Place, call, make_place, text_of


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = make_place(tmp_path, replies=4)
    (tmp_path / "secret.yaml").write_text("schema: true  # secret\n")
    (place.folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (place.folder / "inner.yaml").symlink_to(place.file)
    (place.folder / "folder").symlink_to(tmp_path)
    (place.folder / ".hidden.yaml").write_text(PEOPLE)
    (place.folder / "gateway.yaml").write_text("upstreams:\n  a: {url: https://a.example, key: sk-secret}\n")
    (place.folder / "replies").mkdir()
    (place.folder / "replies" / "one.jsonl").symlink_to(tmp_path / "secret.yaml")
    return place


BAD = (
    "secret.yaml",
    "../secret.yaml",
    "contracts/../secret.yaml",
    "contracts/../contracts/people.yaml",
    "contracts/./people.yaml",
    "contracts//people.yaml",
    "contracts/link.yaml",
    "contracts/inner.yaml",
    "contracts/folder/secret.yaml",
    "contracts/.hidden.yaml",
    "/etc/passwd",
    "contracts/people.yaml\0",
    "contracts/people.yaml/",
    "contracts/" + "x" * 5000,
)


@pytest.mark.spec("X45")
@pytest.mark.parametrize("name", BAD)
def test_a_name_outside_the_folders_or_through_a_link_is_refused(place: Place, name: str) -> None:
    for tool, arguments in (
        ("lint", {"contract": name}),
        ("check", {"contract": name, "reply": "{}"}),
        ("backtest", {"contract": name}),
        ("infer", {"sources": [name]}),
    ):
        result = call(place.workspace(), tool, **arguments)
        assert result.is_error
        said = text_of(result)
        assert "There is no file" in said, (tool, said)
        assert "secret" not in said.replace(repr(name)[:210], "")
        assert str(place.folder.parent) not in said


@pytest.mark.parametrize("name", ["contracts/replies", "contracts"])
def test_a_folder_with_links_is_not_a_source(place: Place, name: str) -> None:
    said = text_of(call(place.workspace(), "infer", sources=[name]))
    assert said.startswith(f"{name} contains links")


def test_settings_that_may_contain_keys_are_not_a_source(place: Place) -> None:
    said = text_of(call(place.workspace(), "infer", sources=["contracts/gateway.yaml"]))
    assert "settings" in said
    assert "sk-secret" not in said


def test_a_contract_cannot_name_a_file_outside(place: Place) -> None:
    for name in ("../secret.yaml", "link.yaml", ".hidden.yaml"):
        result = call(place.workspace(), "lint", contract="contracts/people.yaml", text=f"extends: {name}\n")
        said = text_of(result)
        assert result.structured_content["errors"] == 1
        assert "# secret" not in said
        assert "the served folders are read." in said
