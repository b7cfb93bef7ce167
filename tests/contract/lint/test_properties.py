"""For any change to a contract file, lint reports faults with positions and never raises."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup import Contract
from trueup.contract.files.documents import read_document
from trueup.contract.files.faults import ContractError
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract

ROOT = Path(__file__).resolve().parents[3]
CONTRACTS = {path.name: read_document(path).data for path in sorted((ROOT / "examples" / "contracts").glob("*.yaml"))}

odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, -1, 1.5, 10**30, "", "x", "(", "hp >", "\u202e\x1b[2J", "a.b", [], [None], [[]], ["x", "x"], {}, {"": 1}, {"name": "x"}]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inner for found in places(part, (*path, key)))]


def changed(data: Any, path: tuple[Any, ...], what: str, value: Any) -> Any:
    """The data with one place replaced, dropped, renamed or doubled."""
    out = copy.deepcopy(data)
    if not path:
        return value
    holder = out
    for step in path[:-1]:
        holder = holder[step]
    if what == "replace":
        holder[path[-1]] = value
    elif what == "drop":
        del holder[path[-1]]
    elif isinstance(holder, list):
        holder.append(copy.deepcopy(holder[path[-1]]))
    else:
        holder[f"{path[-1]}x"] = holder.pop(path[-1])
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


@settings(max_examples=settings.default.max_examples * 3 if settings.default else 100)
@given(st.data())
def test_a_changed_contract_is_a_contract_or_has_faults_with_places(folder: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(CONTRACTS)))
    mutant = CONTRACTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(mutant)))
        mutant = changed(mutant, path, data.draw(st.sampled_from(["replace", "drop", "other"])), data.draw(odd))
    file = folder / "mutant.json"
    text = json.dumps(mutant, indent=1)
    file.write_text(text)
    lines = text.split("\n")
    linted = lint_contract(file)
    for found in linted.faults:
        assert 1 <= found.line <= len(lines)
        assert 1 <= found.column <= len(lines[found.line - 1]) + 1
        assert "\n" not in str(found)
    stopped = any(found.level == "error" for found in linted.faults)
    assert (linted.contract is None) is stopped
    if linted.contract is not None:
        list(run_examples(linted))
    else:
        with pytest.raises(ContractError):
            Contract.load(file)
