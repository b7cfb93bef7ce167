"""Ready checks on a table of texts: each one either gives a finding with its position, or stays quiet."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract

TABLE: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases.json").read_text("utf-8"))
FINDS = [(row["check"], text) for row in TABLE for text in row["finds"]]
QUIET = [(row["check"], text) for row in TABLE for text in row["quiet"]]


@pytest.mark.spec("E8")
@pytest.mark.parametrize(("check", "text"), FINDS)
def test_the_case_gives_its_finding(check: Any, text: str) -> None:
    verdict = Contract(checks=[check]).check(text)
    found = [one for one in verdict.findings if one.code.startswith("H")]
    assert found
    for one in found:
        assert one.level == "error"
        assert one.hint
        if one.span is not None:
            start, stop = one.span
            assert 0 <= start < stop <= len(text)


@pytest.mark.spec("E8")
@pytest.mark.parametrize(("check", "text"), QUIET)
def test_the_case_gives_no_finding(check: Any, text: str) -> None:
    verdict = Contract(checks=[check]).check(text)
    assert not [str(one) for one in verdict.findings if one.code.startswith("H")]


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ("no_secrets", "AKIAQX7LTZ3M9KPWB2DR"),
        ("no_secrets", "v8Kq2Lx9"),
        ("no_phone", "7946 0958"),
        ("no_card", "4111"),
        ("no_iban", "2100 0418"),
        ("no_email", "ada.lovelace"),
    ],
)
def test_sensitive_text_is_not_repeated(check: str, value: str) -> None:
    text = (
        "AKIAQX7LTZ3M9KPWB2DR, mq://svc:v8Kq2Lx9@example.org/, +44 20 7946 0958, 4111 1111 1111 1111, "
        "ES91 2100 0418 4502 0005 1332, ada.lovelace@example.org"
    )
    found = Contract(checks=[check]).check(text).findings
    assert found
    assert value in text
    assert not [one for one in found if value in json.dumps(one.to_dict())]


def test_spans_point_at_the_finding() -> None:
    text = "<think>4111 1111 1111 1111</think>Paid with 5555 5555 5555 4444, thanks"
    (found,) = Contract(checks=["no_card"]).check(text).findings
    assert found.span is not None
    assert text[slice(*found.span)] == "5555 5555 5555 4444"
