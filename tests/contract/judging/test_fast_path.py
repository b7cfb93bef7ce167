"""The fast path for clean replies: it never accepts more than a check would, and it writes the value of the check."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "of": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}},
    },
    "required": ["n"],
}
CONTRACT = Contract(SCHEMA, rules=["n <= limit", {"expr": "n != 3", "level": "warning"}])
OWN = Contract(SCHEMA, rules=["n > 0", {"expr": "n != 3", "level": "warning"}])  # the rules see no field of the unit
numbers = st.one_of(st.integers(-9, 9), st.sampled_from([5.0, 1e300, 0.5, 2**70, "3", None, True]))
values = st.one_of(
    st.fixed_dictionaries(
        {"n": numbers},
        optional={"of": st.lists(st.fixed_dictionaries({"n": numbers}), max_size=3), "limit": numbers, 'é\n"': numbers},
    ),
    st.lists(numbers, max_size=2),
    numbers,
)
texts = st.one_of(
    st.builds(json.dumps, values, indent=st.sampled_from([None, 1]), ensure_ascii=st.booleans()),
    st.builds(lambda value: f"```json\n{json.dumps(value)}\n```", values),
    st.builds(lambda value, cut: json.dumps(value)[:cut], values, st.integers(0, 12)),
    st.sampled_from(
        ['{"n": 1, "n": 2}', '{"n": 1, "\\u0022": 2}', '{"n": NaN}', '{"n": 1e999}', '{"n": "\ud800"}', "data: {}", ""]
    ),
)
fields = st.fixed_dictionaries({"limit": st.integers(-5, 9)}, optional={"unit_id": st.just("u"), "n": numbers})


@given(texts, fields, st.sampled_from([Contract(SCHEMA), CONTRACT, OWN]))
def test_a_reply_is_clean_if_a_check_finds_nothing(text: str, given: dict[str, Any], contract: Contract) -> None:
    written = contract.clean(text, given)
    verdict = contract.check(text, {"input": given})
    if written is not None:
        assert not verdict.findings
        assert not verdict.fixes
        assert json.loads(written) == verdict.data == json.loads(text)
        assert b"\n" not in written
    elif not verdict.findings and not verdict.fixes:
        assert "\\u0022" in text or str(2**70) in text, "only what cannot be told so soon is looked at again"


@pytest.mark.parametrize(
    "contract",
    [
        Contract(),
        Contract(SCHEMA, tools=[{"name": "look"}]),
        Contract(SCHEMA, reply=True),
        Contract(SCHEMA, states={"A": {}}),
        Contract(SCHEMA, max_size=5),
    ],
    ids=["text", "tools", "reply", "states", "size"],
)
def test_contracts_with_more_checks_have_no_fast_path(contract: Contract) -> None:
    assert contract.clean('{"n": 1}', {}) is None


@pytest.mark.parametrize(
    ("rules", "sees"),
    [
        (None, False),
        (["n > 0"], False),
        (["n > 0 and of != []"], True),
        (["n <= limit"], True),
        (["unit_id != 'a'"], True),
        ({"required": ["n"]}, False),
    ],
)
def test_the_fields_of_a_unit_are_only_asked_for_where_a_rule_can_see_them(rules: Any, sees: bool) -> None:
    schema = {**SCHEMA, "required": ["n", "unit_id"]}
    way = Contract(schema, rules=rules, input=["limit"]).short_way
    assert way is not None
    assert way.sees_fields is sees


def test_a_contract_file_loads_only_the_rooms_that_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "contract.json"
    file.write_text(json.dumps({"schema": SCHEMA, "rules": ["n <= 5"]}))
    code = f"import sys, trueup; trueup.Contract.load({str(file)!r}); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "trueup.checks.rules" in loaded
    assert loaded.isdisjoint(
        {"trueup.contract.calls", "trueup.checks.state", "trueup.checks.reply", "trueup.checks.tools"}
    )
