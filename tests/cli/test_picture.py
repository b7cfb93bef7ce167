"""The pictures in the README and the docs match the current output of the commands."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.make_pictures import PICTURES, main


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("check.svg", ["refused", "S001 trailing-comma"]),
        ("calls.svg", ["1 may run, 2 refused", "error[T001]", "K002 guess"]),
        ("tui-run.svg", ["harbour", "5 valid, 1 failed", "V005"]),
        ("tui-unit.svg", ["pedlar-friendly", "⟨S008⟩", "B005 $.greeting"]),
    ],
)
def test_the_picture_is_fresh_and_loads_nothing(
    name: str, words: list[str], root: Path, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--update-snapshots"):
        main()
    drawn = (root / "docs" / "img" / name).read_text("utf-8")
    assert drawn == PICTURES[name](), "the picture is old: run `make snapshots` and look at it"
    text = "".join(ET.fromstring(drawn).itertext()).replace("\xa0", " ")
    assert not [word for word in words if word not in text]
    assert set(re.findall(r"https?://[^\"'\s)]+", drawn)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in re.sub(r"url\(#", "", drawn)
