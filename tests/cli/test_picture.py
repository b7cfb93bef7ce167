"""The picture in the README is what `trueup check` shows today."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.make_pictures import main, picture


def test_the_picture_is_fresh_and_loads_nothing(root: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-snapshots"):
        main()
    drawn = (root / "docs" / "img" / "check.svg").read_text("utf-8")
    assert drawn == picture(), "the picture is old: run `make snapshots` and look at it"
    words = "".join(ET.fromstring(drawn).itertext()).replace("\xa0", " ")
    assert "refused" in words
    assert "S001 trailing-comma" in words
    assert set(re.findall(r"https?://[^\"'\s)]+", drawn)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in re.sub(r"url\(#", "", drawn)
