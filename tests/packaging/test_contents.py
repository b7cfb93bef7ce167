"""The contents of the sdist and the wheel, and their metadata."""

import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import PurePosixPath

import pytest
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from trove_classifiers import classifiers

from tests.conftest import ROOT
from tests.packaging.installing import Built
from tests.test_house import PROJECT

PAGE = "src/trueup/studio/page/"  # the sources of the bundle


def tracked() -> set[str]:
    """Every file of the checkout."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def in_sdist(built: Built) -> set[str]:
    with tarfile.open(built.sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def in_wheel(built: Built) -> set[str]:
    with zipfile.ZipFile(built.wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="session")
def metadata(built: Built) -> Message:
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


@pytest.mark.needs("checkout")
def test_the_sdist_is_the_checkout(built: Built) -> None:
    """So its tests run, and a wheel can be built from it; caches and whatever else git ignores are not in it."""
    assert in_sdist(built) - {"PKG-INFO"} == tracked()


@pytest.mark.needs("checkout")
def test_the_wheel_is_the_package_and_the_examples_of_the_studio(built: Built) -> None:
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/") and not name.startswith(PAGE)}
    extra = {name for name in in_wheel(built) if ".dist-info/" not in name} - package
    assert package <= in_wheel(built)
    copies = {name: name.removeprefix("trueup/studio/demo/") for name in extra}
    assert copies
    assert not [copy for copy, name in copies.items() if copy == name or not (ROOT / name).is_file()]


def test_no_test_and_no_cache_is_in_the_wheel(built: Built) -> None:
    for name in in_wheel(built):
        parts = PurePosixPath(name).parts
        assert parts[0] == "trueup" or parts[0].endswith(".dist-info"), name
        assert not {"tests", "__pycache__"} & set(parts), name
        assert not parts[-1].startswith(("test_", "conftest")), name


def test_the_licences_are_in_both(built: Built, metadata: Message) -> None:
    """Ours, and those of the libraries in the studio's bundle."""
    named = metadata.get_all("License-File")
    assert named == ["LICENSE", "src/trueup/studio/bundle/licences.txt"]
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    for name in named:
        assert name in in_sdist(built)
        assert any(member.endswith(f".dist-info/licenses/{name}") for member in in_wheel(built))


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert metadata["Summary"] == PROJECT["description"]
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    needed = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert set(map(Requirement, needed)) == set(map(Requirement, PROJECT["dependencies"]))
    assert all(metadata.get_all(field) is None for field in ("Home-page", "Project-URL")), "trueup has no home yet"


def test_the_classifiers_exist(metadata: Message) -> None:
    given = metadata.get_all("Classifier", [])
    assert "Typing :: Typed" in given
    assert set(given) <= classifiers
    assert not [each for each in given if each.startswith("License ::")], "PEP 639: the expression replaces them"


def test_the_long_description_is_the_readme(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    assert text.decode() == (ROOT / "README.md").read_text("utf-8")
    page = MarkdownIt("commonmark", {"html": False}).enable("table").render(text.decode())
    assert "<h1>trueup</h1>" in page
    assert "&lt;" not in page.partition("<pre>")[0], "an index would not show raw HTML"
