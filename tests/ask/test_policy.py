"""The policy: every number has its bounds, and invalid options raise an error immediately."""

import inspect
import pickle
from typing import Any

import msgspec
import pytest

from trueup import Contract, Policy, Price


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repairs": -1}, "repairs must be a whole number, 0 or more; got -1"),
        ({"retries": True}, "retries must be a whole number"),
        ({"attempts": 0}, "attempts must be a whole number, 1 or more"),
        ({"deadline": 0}, "deadline must be a number above 0"),
        ({"backoff": float("inf")}, "backoff must be a number above 0"),
        ({"timeout": float("nan")}, "timeout must be a number above 0"),
        ({"modes": ("xml",)}, "modes must be one or more of json_schema, json_object, tool, text"),
        ({"modes": ()}, "modes must be one or more of"),
        ({"models": "gpt"}, "models must be a tuple of names"),
        ({"repair": "half"}, "repair must be one of whole, fields"),
        ({"otherwise": "raise"}, "otherwise must be one of degraded, failed"),
        ({"prices": {"m": (1, 2)}}, r"the price of 'm' must be a Price\(input, output\)"),
        ({"money": 1.0, "models": ("m",)}, "the price of 'm' is not known"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Policy(**given)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="Policy has no option 'repiars'; did you mean 'repairs'"):
        Policy(repiars=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Policy has no option 'zebra'; its options are models, modes, temperature, "):
        Policy(zebra=2)  # type: ignore[call-arg]
    with pytest.raises(msgspec.ValidationError, match="repiars"):
        msgspec.convert({"repiars": 2}, Policy)


def test_a_policy_is_frozen_and_reads_from_data() -> None:
    policy = msgspec.convert({"models": ["a", "b"], "prices": {"*": {"input": 1, "output": 2}}, "money": 3}, Policy)
    assert policy.models == ("a", "b")
    assert Policy(models=["a"]).models == ("a",)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        policy.repairs = 5  # type: ignore[misc]


def test_the_options_of_a_policy_can_be_inspected() -> None:
    assert list(inspect.signature(Policy).parameters) == list(Policy.__struct_fields__)
    assert msgspec.structs.replace(Policy(repairs=5), retries=1) == Policy(repairs=5, retries=1)
    assert pickle.loads(pickle.dumps(Policy(repairs=5))) == Policy(repairs=5)


def test_an_object_that_is_not_a_policy_is_refused_before_anything_is_asked() -> None:
    asked: list[Any] = []
    with pytest.raises(TypeError, match=r"policy must be a Policy\(…\), such as Policy\(repairs=1\); got dict"):
        Contract(True).ask(asked.append, "Who?", {"repairs": 1})  # type: ignore[arg-type]
    assert not asked


@pytest.mark.spec("A11")
def test_cached_input_has_its_own_price() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 600}
    assert Policy(prices={"m": Price(10.0, 20.0)}).cost("m", usage) == pytest.approx(0.012)
    assert Policy(prices={"m": Price(10.0, 20.0, 1.0)}).cost("m", usage) == pytest.approx(0.0066)
    assert Policy(prices={"m": Price(1.0, 1.0)}).cost("m", {"total_tokens": 5}) is None
