"""Files that a contract names: a schema, tools or a quality model given as a path enter, their data leaves.

A path is relative to the file that names it. Nothing is fetched from an address, and no Python is imported: a contract
file is data.
"""

from pathlib import Path
from typing import Any

from trueup.contract.files.documents import read_document
from trueup.contract.files.faults import ContractError, Fault, Marks, fault
from trueup.verdict.patterns import lazy_regex

NAMED = {"schema": "N007", "tools": "N009"}
_ADDRESS = lazy_regex(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def resolved(data: dict[str, Any], marks: Marks, folder: Path, faults: list[Fault]) -> dict[str, Any]:
    """The data of a contract file with the files that it names read in; what cannot be read goes to `faults`."""
    out = dict(data)
    for key, code in NAMED.items():
        given = data.get(key)
        if isinstance(given, str):
            out[key] = _read(given, key, code, marks, folder, faults)
    if isinstance(data.get("quality"), dict) and data["quality"].get("model") is not None:
        out["quality"] = {**data["quality"], "model": _model(data["quality"]["model"], marks, folder, faults)}
    return out


def _model(given: Any, marks: Marks, folder: Path, faults: list[Fault]) -> Any:
    """The quality model that a contract names or holds; None where it cannot be used."""
    from trueup.checks.scoring import BadModel, read_model  # loaded where a contract has a score
    from trueup.contract.scored import load_model

    path, hint = ("quality", "model"), ""
    try:
        if not isinstance(given, str):
            return read_model(given)
        hint = "A path is relative to the file that names it; `trueup learn` writes a model."
        if not _ADDRESS.match(given):
            return load_model(folder / given)
        problem = f"{given!r} is an address; nothing is fetched"
    except BadModel as error:
        problem = str(error)
    faults.append(fault("N028", marks.value(path), path, problem, hint))
    return None


def _read(given: str, key: str, code: str, marks: Marks, folder: Path, faults: list[Fault]) -> Any:
    place = marks.value((key,))
    problem = hint = ""
    if _ADDRESS.match(given):
        problem, hint = (
            f"{given!r} is an address; nothing is fetched",
            "Save it beside the contract and name that file.",
        )
    elif given.lstrip()[:1] in ("{", "["):
        problem, hint = f"{key} is JSON in a text", "Write it as a mapping, or name a file."
    else:
        try:
            found = read_document(folder / given)
            faults += found.faults
            return found.data
        except ContractError as error:
            inner = error.faults[0]
            if inner.code != "N001":
                faults += error.faults
                return None
            problem, hint = f"{key} file {given!r}: {inner.message}", "A path is relative to the file that names it."
    faults.append(fault(code, place, (key,), problem, hint))
    return None
