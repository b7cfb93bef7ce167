"""Drafts from a second, independent maker of replies: different shapes, rarer absences, different damage."""

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.effort import SOAK
from tests.inferring.otherwise import DAMAGE, replies, shape, wrong_places
from trueup.contract.files.documents import read_document
from trueup.inferring.infer import NothingToLearn, infer
from trueup.inferring.report import ContractDraft

SHAPES = 200 if SOAK else 16


def test_types_and_required_fields_are_right_in_99_percent() -> None:
    places, refused = 0, 0
    wrong: list[str] = []
    for seed in range(SHAPES):
        rng = random.Random(seed)
        values, texts = replies(shape(rng), rng)
        draft = infer(texts, seed=seed)
        assert draft.faults() == (), f"shape {seed} does not lint clean"
        assert draft.report.ok, f"shape {seed}: {draft.report.held}"
        number, faults = wrong_places(values, draft.data.get("schema"))
        places += number
        wrong += [f"shape {seed} {fault}" for fault in faults]
        contract = draft.contract()
        refused += sum(not contract.check_value(value).ok for value in values)
    assert len(wrong) <= 0.01 * places, wrong[:20]
    assert refused <= 0.01 * SHAPES * 100


def test_each_kind_of_damage_alone() -> None:
    for damage in DAMAGE:
        rng = random.Random(damage.__name__)
        values = [{"n": n, "city": rng.choice(["Oslo", "Rome"]), "tags": [f"t{n % 7}"]} for n in range(60)]
        texts = [damage(one, rng) if at % 4 == 1 else json.dumps(one) for at, one in enumerate(values)]
        schema = infer(texts, holdout=0.0).data["schema"]
        assert schema["required"] == ["n", "city", "tags"], damage.__name__
        assert wrong_places(values, schema)[1] == [], damage.__name__


HOSTILE = st.sampled_from([
    "a\nb", "# x", ": ", "a: b", "&x", "*x", "'", '"', "\x00", "\x1b[31m", "\u202e", "\u2028", "\ud800", "- a", "? x", "!!python/object", "{a", "[",
    "%TAG", "---", "...", "@x", "`x", "yes", "NO", "null", "~", "1.0", "0x1f", "1e3", "", "  ", " lead", "trail ", "\t", "=", "<<", "$ref", "type",
    "properties", "oneOf", "name", "arguments", "schema", "tools", "🙂", "\ufeff", "\u0085", "x" * 300, "${HOME}", "{{x}}", "$id", "role", "choices",
    "-", "error", "<think>", "```",
])  # fmt: skip
KEYS = st.one_of(HOSTILE, st.text(max_size=5))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    HOSTILE,
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def drafted(values: list[Any], times: int, strictness: Any, *, as_text: bool) -> ContractDraft | None:
    given_ = (values * times)[:120]
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in given_]
    try:
        return infer(texts if as_text else given_, strictness=strictness)
    except NothingToLearn:
        return None


@given(
    st.lists(VALUES, min_size=1, max_size=6),
    st.integers(1, 40),
    st.sampled_from(["loose", "standard", "tight"]),
    st.booleans(),
)
def test_a_draft_of_any_values_lints_clean_and_is_what_it_says(
    tmp_path_factory: Any, values: list[Any], times: int, strictness: str, as_text: bool
) -> None:
    draft = drafted(values, times, strictness, as_text=as_text)
    if draft is None:
        return
    path = tmp_path_factory.mktemp("drafts") / "draft.yaml"
    path.write_text(draft.yaml, "utf-8")
    assert draft.faults() == ()
    assert read_document(path).data == json.loads(json.dumps(draft.data))
    report = draft.report
    assert report.cases == report.used + report.held.total + sum(report.unusable.values())


OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c d", "#e"]), VALUES, max_size=4)


@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_a_draft_accepts_what_it_was_drafted_from(values: list[dict[str, Any]]) -> None:
    draft = drafted(values, 20, "standard", as_text=True)
    if draft is None or "schema" not in draft.data:
        return
    contract = draft.contract()
    refused = [value for value in values if not contract.check(json.dumps(value, ensure_ascii=False)).ok]
    held = draft.report.held
    is_told = not draft.report.ok or draft.report.unusable or held.cut_accepted < held.cut or "ignored" in draft.yaml
    assert not refused or is_told, draft.yaml
