"""Files that a contract names: takes the path of a schema, tools or a quality model, and returns its data.

A path is relative to the file that names it. Nothing is fetched from the network, and no Python is imported: a contract
file is data. The reader's `find` decides which files may be read.
"""

from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.documents import Barred, Find, anywhere, read_source
from trueup.contract.files.faults import ContractError, Fault, Marks, fault
from trueup.verdict.patterns import lazy_regex

NAMED = {"schema": "N007", "tools": "N009"}
_ADDRESS = lazy_regex(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def resolved(
    data: dict[str, Any], marks: Marks, folder: Path, faults: list[Fault], find: Find = anywhere
) -> dict[str, Any]:
    """The data of a contract file with its named files read in; files that cannot be read are added to `faults`."""
    reading = _Reading(marks, folder, faults, find)
    out = dict(data)
    for key, code in NAMED.items():
        given = data.get(key)
        if isinstance(given, str):
            out[key] = reading.document(given, key, code)
    if isinstance(data.get("quality"), dict) and data["quality"].get("model") is not None:
        out["quality"] = {**data["quality"], "model": reading.model(data["quality"]["model"])}
    if isinstance(data.get("checks"), list):
        out["checks"] = [reading.check(item, index) for index, item in enumerate(data["checks"])]
    return out


class _Reading(NamedTuple):
    """Everything needed to read the files that one contract file names."""

    marks: Marks
    folder: Path
    faults: list[Fault]
    find: Find

    def model(self, given: Any) -> Any:
        """The quality model that a contract names or contains; None if it cannot be used."""
        from trueup.checks.scoring import BadModel, read_model  # loaded only if a contract has a score
        from trueup.contract.meaning.scores import load_model

        path, hint = ("quality", "model"), ""
        try:
            if not isinstance(given, str):
                return read_model(given)
            hint = "A path is relative to the file that names it; `trueup learn` writes a model."
            if not _ADDRESS.match(given):
                source = self.find(self.folder / given)
                return load_model(source.path, source.name)
            problem = f"{given!r} is a URL; trueup does not fetch files"
        except BadModel as error:
            problem = str(error)
        except Barred as barred:
            problem, hint = f"there is no model {given!r}", str(barred)
        self.faults.append(fault("N028", self.marks.value(path), path, problem, hint))
        return None

    def check(self, item: Any, index: int) -> Any:
        """A check from a contract, with the terms from the file that it names filled in."""
        options: Any = item.get("terms") if isinstance(item, dict) else None
        given = options.get("file") if isinstance(options, dict) else None
        if not isinstance(given, str):
            return item
        from trueup.contract.meaning.ready_checks import with_terms  # loaded only if a contract has terms in a file
        from trueup.shelf.options import BadOption

        path, hint = ("checks", index, "terms", "file"), "A path is relative to the file that names it."
        try:
            if _ADDRESS.match(given):
                problem = f"{given!r} is a URL; trueup does not fetch files"
            else:
                return {"terms": with_terms(options, self.find(self.folder / given))}
        except BadOption as error:
            problem = str(error).removeprefix("terms.file: ")
        except Barred as barred:
            problem, hint = f"there is no file {given!r}", str(barred)
        self.faults.append(fault("N021", self.marks.value(path), path, problem, hint))
        return {"terms": {**{key: value for key, value in options.items() if key != "file"}, "forbid": ["-"]}}

    def document(self, given: str, key: str, code: str) -> Any:
        """The data of a file that a key names; None if it cannot be read."""
        problem = hint = ""
        if _ADDRESS.match(given):
            problem, hint = (
                f"{given!r} is a URL; trueup does not fetch files",
                "Save it next to the contract and name that file.",
            )
        elif given.lstrip()[:1] in ("{", "["):
            problem, hint = f"{key} is text that contains JSON", "Write it as a mapping, or name a file."
        else:
            try:
                found = read_source(self.find(self.folder / given))
                self.faults.extend(found.faults)
                if not isinstance(found.data, str):  # a text would be read as the path of another file
                    return found.data
                problem = f"{key} file {given!r} contains a text"
            except Barred as barred:
                problem, hint = f"there is no {key} file {given!r}", str(barred)
            except ContractError as error:
                inner = error.faults[0]
                if inner.code != "N001":
                    self.faults.extend(error.faults)
                    return None
                problem = f"{key} file {given!r}: {inner.message}"
                hint = "A path is relative to the file that names it."
        self.faults.append(fault(code, self.marks.value((key,)), (key,), problem, hint))
        return None
