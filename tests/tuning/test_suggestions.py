"""Each kind of suggestion: what causes it, what it changes, and what prevents it."""

from pathlib import Path

import msgspec
import pytest

from tests.tuning.making import cases_of, kinds, tuned, write
from trueup.tuning.bounds import comparisons
from trueup.tuning.choosing import choose
from trueup.tuning.proposals import Proposal, votes
from trueup.tuning.spellings import meaning
from trueup.tuning.thresholds import roundest
from trueup.tuning.tune import tune

RULES = "schema: {type: object, properties: {n: {type: integer}}}\nrules:\n"


def added(diff: str) -> list[str]:
    return [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


def removed(diff: str) -> list[str]:
    return [line[1:] for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]


def test_a_rule_that_never_fires_is_named_with_the_bound_of_its_rate(tmp_path: Path) -> None:
    file = write(
        tmp_path, RULES + "  # both\n  - {name: alive, expr: n < 90}\n  - {name: dead, expr: n < 500}  # old\n"
    )
    found = tuned(file, [({"n": n % 100}, None) for n in range(800)])
    assert kinds(found) == ["dead"]
    assert "checked 800 replies and never fired: at most 0.37% of them break it" in found.suggestions[0].proposal.why
    assert "rare" in found.suggestions[0].proposal.title
    assert not found.suggestions[0].is_advice
    assert removed(found.suggestions[0].diff) == ["  - {name: dead, expr: n < 500}  # old"]


def test_few_replies_do_not_make_a_rule_silent(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + "  - {name: dead, expr: n < 500}\n")
    assert not tuned(file, [({"n": n}, None) for n in range(200)]).suggestions


def test_a_forbidden_word_is_silent_only_by_replies_of_its_state(tmp_path: Path) -> None:
    text = "states:\n  start: A\n  A: {fallback: Yes?}\n  B:\n    forbid: [{terms: [gold], name: gold}]\n    fallback: No.\n"
    file = write(tmp_path, text)
    assert not tuned(file, [("hello you", None)] * 900).suggestions
    found = tuned(file, [("hello you", None)] * 900, context={"state": "B"})
    assert kinds(found) == ["dead"]


def test_a_rule_is_silent_only_by_replies_that_it_was_evaluated_on(tmp_path: Path) -> None:
    text = "schema: true\nrules:\n  required: [n]\n  rules:\n    - {name: refunds, expr: n < 500, when: kind == 'refund'}\n    - {name: big, expr: n < 500}\n"
    file = write(tmp_path, text)
    sales, refunds = [({"n": 1, "kind": "sale"}, None)] * 900, [({"n": 1, "kind": "refund"}, None)] * 900
    never, big = tuned(file, sales).suggestions
    assert never.proposal.title.startswith("Rule 'refunds' did not apply: remove it if nothing rare")
    assert "Its `when` was true in none of them, so the rule may be meant for other traffic." in never.proposal.why
    assert big.proposal.title.startswith("Rule 'big' has not fired")
    always, _ = tuned(file, refunds).suggestions
    assert "has not fired" in always.proposal.title
    assert "`when`" not in always.proposal.why
    rarely, _ = tuned(file, [*sales, *refunds[:7]]).suggestions
    assert "Its `when` was true in 7 of them." in rarely.proposal.why
    assert not tuned(file, [({"kind": "refund"}, None)] * 900).suggestions, "a missing field ends the check"
    forbids = write(
        tmp_path, "states:\n  always: {forbid: [{terms: [gold], name: gold}]}\n  A: {fallback: Yes?}\n", "s.yaml"
    )
    assert kinds(tuned(forbids, [("hello you", None)] * 900)) == ["dead"]
    assert not tuned(forbids, [(" ", None)] * 900).suggestions, "nothing was said"


def test_two_rules_that_fire_together_are_one(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        RULES + "  - {name: one, expr: n < 50}\n  - {name: two, expr: n <= 49}\n  - {name: three, expr: n < 60}\n",
    )
    found = tuned(file, [({"n": n % 100}, None) for n in range(400)])
    assert kinds(found) == ["together"]
    assert removed(found.suggestions[0].diff) == ["  - {name: two, expr: n <= 49}"]


def test_a_rule_that_mostly_misfires_becomes_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + "  - name: odd\n    expr: n % 2 == 0  # so be it\n")
    found = tuned(file, [({"n": 3}, True)] * 11 + [({"n": 5}, False)] + [({"n": 2}, True)] * 5)
    assert kinds(found) == ["misfire"]
    assert added(found.suggestions[0].diff) == ["    level: warning"]
    assert found.suggestions[0].proposal.labels == 12


@pytest.mark.parametrize(("wrong", "right"), [(9, 0), (6, 5), (0, 30)])
def test_nothing_is_said_below_ten_labels_or_without_a_clear_majority(tmp_path: Path, wrong: int, right: int) -> None:
    file = write(tmp_path, RULES + "  - {name: odd, expr: n % 2 == 0}\n")
    assert not tuned(file, [({"n": 3}, True)] * wrong + [({"n": 5}, False)] * right).suggestions


def test_missing_labels_are_reported(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + "  - {name: odd, expr: n % 2 == 0}\n")
    found = tuned(file, [({"n": 3}, True)] * 4 + [({"n": 5}, None)] * 20)
    assert [(row.unit.name, row.labelled, row.fired) for row in found.needed] == [("odd", 4, 24)]


def test_one_pattern_of_several_is_removed(tmp_path: Path) -> None:
    text = (
        "states:\n  start: A\n  groups:\n    money:\n      patterns:\n        - '\\bprice\\b'\n        - '\\bfree\\b'   # hm\n"
        "      except: [negated]\n  A:\n    forbid: [money]\n    fallback: Yes?\n"
    )
    file = write(tmp_path, text)
    replies = [("It is free for you.", True)] * 14 + [("The price is 5.", False)] * 14 + [("It is not free.", True)] * 3
    found = tuned(file, [(f"{reply} {n}", should) for n, (reply, should) in enumerate(replies)])
    assert kinds(found) == ["misfire"]
    assert removed(found.suggestions[0].diff) == ["        - '\\bfree\\b'   # hm"]
    rows = found.measured.patterns["forbid:A:money"]
    assert [(row.unit.name, row.fired, row.right, row.wrong) for row in rows] == [
        ("\\bprice\\b", 14, 14, 0),
        ("\\bfree\\b", 14, 0, 14),
    ]


def test_a_bound_moves_to_the_place_that_separates_the_labels(tmp_path: Path) -> None:
    file = write(tmp_path, "schema:\n  type: object\n  properties:\n    n: {type: integer, maximum: 40}  # why\n")
    found = tuned(file, [({"n": n}, n <= 62) for n in range(20, 90, 2)])
    assert kinds(found) == ["threshold"]
    assert added(found.suggestions[0].diff) == ["    n: {type: integer, maximum: 63}  # why"]


def test_a_bound_is_tightened_by_accepted_replies_that_people_refuse(tmp_path: Path) -> None:
    file = write(tmp_path, "schema: true\nrules:\n  ranges:\n    n: [0, 100]\n")
    found = tuned(file, [({"n": n}, n <= 70) for n in range(1, 100, 2)])
    assert kinds(found) == ["threshold"]
    assert added(found.suggestions[0].diff) == ["    n: [0, 70]"]


def test_a_rule_that_misfires_anywhere_is_not_a_wrong_threshold(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + "  - {name: few, expr: n <= 40}\n")
    found = tuned(file, [({"n": n}, n % 7 != 0 or n <= 40) for n in range(1, 100)])
    assert kinds(found) == ["misfire"]


def test_the_message_of_a_rule_that_repeats_the_number_is_mentioned(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + '  - {name: few, expr: n <= 40, error: "over 40 items"}\n')
    found = tuned(file, [({"n": n}, n <= 70) for n in range(1, 100)])
    assert found.suggestions[0].proposal.note == "The message of the rule also mentions 40."


def test_the_fewest_characters_of_a_reply(tmp_path: Path) -> None:
    file = write(tmp_path, "reply:\n  min_text: 20   # few\n")
    found = tuned(file, [("x" * n, n >= 6) for n in range(1, 40)])
    assert added(found.suggestions[0].diff) == ["  min_text: 6   # few"]


ENUM = "schema:\n  type: object\n  properties:\n    level: {enum: [low, high]}\n"


def test_a_spelling_becomes_an_alias(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    found = tuned(file, [({"level": "very high"}, True)] * 12 + [({"level": "banana"}, False)] * 12)
    assert kinds(found) == ["alias"]
    assert added(found.suggestions[0].diff) == ["", "coerce:", "  aliases: {high: [very high]}"]


def test_a_value_that_means_nothing_known_is_allowed_as_it_is(tmp_path: Path) -> None:
    found = tuned(write(tmp_path, ENUM), [({"level": "unset"}, True)] * 12)
    assert kinds(found) == ["value"]
    assert added(found.suggestions[0].diff) == ["    level: {enum: [low, high, unset]}"]


def test_an_alias_is_added_to_those_that_are_there(tmp_path: Path) -> None:
    text = ENUM + "coerce:\n  aliases:\n    high: [top]  # old\n"
    found = tuned(write(tmp_path, text), [({"level": "very high"}, True)] * 12)
    assert added(found.suggestions[0].diff) == ["    high: [top, very high]  # old"]


def test_rare_spellings_count_together(tmp_path: Path) -> None:
    replies = [
        ({"level": text}, True) for text in ("very high", "quite high", "low (auto)", "so low") for _ in range(4)
    ]
    found = tuned(write(tmp_path, ENUM), replies)
    assert kinds(found) == ["alias"]
    assert len(found.suggestions[0].proposal.facts["values"]) == 4


def test_a_prefix_of_many_values_is_dropped_for_all_of_them(tmp_path: Path) -> None:
    text = "schema:\n  type: object\n  properties:\n    level: {enum: [low, medium, high]}\n"
    replies = [({"level": f"level {text}"}, True) for text in ("low", "medium", "high") for _ in range(5)]
    found = tuned(write(tmp_path, text), replies)
    assert kinds(found) == ["affix"]
    assert added(found.suggestions[0].diff)[-1] == "  enum_prefixes: ['level ']"


def test_a_remark_after_many_values_is_cut_off(tmp_path: Path) -> None:
    remarks = ("as always", "see above", "since May", "I guess")
    found = tuned(write(tmp_path, ENUM), [({"level": f"low | {remark}"}, True) for remark in remarks for _ in range(4)])
    assert kinds(found) == ["affix"]
    assert added(found.suggestions[0].diff)[-1] == "  enum_delimiters: [' | ']"


def test_a_key_by_another_name_becomes_an_alias(tmp_path: Path) -> None:
    text = "schema:\n  type: object\n  properties: {price: {type: integer}}\n  required: [price]\n  additionalProperties: false\n"
    found = tuned(write(tmp_path, text), [({"cost": 3}, True)] * 12 + [({}, False)] * 5)
    assert kinds(found) == ["alias"]
    assert added(found.suggestions[0].diff)[-1] == "  aliases: {price: [cost]}"


def test_a_key_that_is_always_added_is_allowed(tmp_path: Path) -> None:
    text = "schema:\n  type: object\n  properties:\n    price: {type: integer}\n  additionalProperties: false\n"
    found = tuned(write(tmp_path, text), [({"price": 3, "remark": "x"}, True)] * 12)
    assert kinds(found) == ["key"]
    assert added(found.suggestions[0].diff) == ["    remark: {}"]


def test_values_that_a_bolder_profile_reads(tmp_path: Path) -> None:
    text = "schema: {type: object, properties: {n: {type: number}}}\ncoerce: standard  # for now\n"
    found = tuned(write(tmp_path, text), [({"n": "$1,234"}, True)] * 12 + [({"n": "many"}, False)] * 8)
    assert kinds(found) == ["coercion"]
    assert added(found.suggestions[0].diff) == ["coerce: eager  # for now"]


def test_fixes_that_are_refused_although_people_accept_them(tmp_path: Path) -> None:
    text = "schema: {type: object, properties: {n: {type: integer}}}\naccept: lossless\n"
    found = tuned(write(tmp_path, text), [('{"n": "5"}', True)] * 12)
    assert kinds(found) == ["accept"]
    assert added(found.suggestions[0].diff) == ["accept: guess"]


def test_many_tests_ask_for_more(tmp_path: Path) -> None:
    """One test with p = 0.03 is significant alone, but not among thirty tests that found nothing."""
    one = Proposal("misfire", ("a",), "t", "w", 0.03, better=tuple(range(12)), worse=(90,))
    assert [chosen.p for chosen in choose([one])] == [0.03]
    assert not choose([one, *(Proposal("misfire", (n,), "t", "w", 0.9) for n in range(30))])


def test_a_suggestion_is_backtested(tmp_path: Path) -> None:
    file = write(tmp_path, ENUM)
    replies = (
        [({"level": "very high"}, True)] * 12 + [({"level": "very high"}, None)] * 8 + [({"level": "low"}, None)] * 20
    )
    found = tune(file, cases_of(file, replies))
    outcome = found.suggestions[0].outcome
    assert outcome is not None
    assert (outcome.judged, outcome.newly_accepted, outcome.newly_refused, outcome.better, outcome.worse) == (
        40,
        20,
        0,
        12,
        0,
    )
    assert (outcome.refused_before, outcome.refused_now) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("value", "allowed", "meant"),
    [
        ("HIGH!", ["low", "high"], "high"),
        ("med", ["low", "medium", "medical"], ""),
        ("refunds", ["refund", "exchange"], "refund"),
        ("low or high", ["low", "high"], ""),
        ("negativ", ["positive", "negative"], "negative"),
        ("x", ["low", "high"], ""),
    ],
)
def test_the_meaning_of_a_spelling(value: str, allowed: list[str], meant: str) -> None:
    assert meaning(value, allowed) == meant


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x < 5", [(5, "x", True, False)]),
        ("5 >= x", [(5, "x", True, True)]),
        ("len(name) >= 3 and y > -2.5", [(3, "len(name)", False, True), (-2.5, "y", False, False)]),
        ("x == 5", []),
        ("x < y", []),
        ("not a python (", []),
    ],
)
def test_numbers_that_something_is_compared_with(source: str, found: list[tuple[float, str, bool, bool]]) -> None:
    assert [(one.value, one.other, one.upper, one.inclusive) for one in comparisons(source)] == found


def test_round_numbers_stay_inside_their_gap() -> None:
    assert roundest(98, 103, low_open=True, high_open=True, whole=True) == 100
    assert roundest(7, 8, low_open=False, high_open=True, whole=True) == 7
    assert roundest(7, 8, low_open=True, high_open=True, whole=True) is None
    assert roundest(0.1, 0.2, low_open=True, high_open=False, whole=False) == 0.2
    assert roundest(-63, -47, low_open=False, high_open=True, whole=True) == -60


TALKS = {
    "misfire": (RULES + "  - {name: odd, expr: n % 2 == 0}\n", [({"n": 3}, True)] * 15),
    "alias": (ENUM, [({"level": "very high"}, True)] * 15),
    "value": (ENUM, [({"level": "unset"}, True)] * 15),
    "threshold": ("schema: {properties: {n: {maximum: 40}}}\n", [({"n": n}, n <= 62) for n in range(20, 90, 2)]),
    "coercion": ("schema: {properties: {n: {type: number}}}\n", [({"n": "$1,234"}, True)] * 15),
    "dead": (RULES + "  - {name: dead, expr: n < 500}\n", [({"n": 1}, None)] * 900),
    "together": (RULES + "  - {name: one, expr: n < 9}\n  - {name: two, expr: n <= 8}\n", [({"n": n % 18}, None) for n in range(90)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TALKS)
def test_the_replies_of_one_conversation_count_once(tmp_path: Path, kind: str) -> None:
    text, replies = TALKS[kind]
    file = write(tmp_path, text)
    cases = cases_of(file, replies)
    assert kind in kinds(tune(file, cases, backtest=False))
    for talks in (1, 3):
        few = [msgspec.structs.replace(case, conversation=f"talk {at % talks}") for at, case in enumerate(cases)]
        assert not tune(file, few, backtest=False).suggestions
        units = [msgspec.structs.replace(case, context={"input": {"conversation": "a"}}) for case in cases]
        assert not tune(file, units, backtest=False).suggestions


def test_a_conversation_has_one_vote_by_its_majority() -> None:
    assert votes(range(12), [21, 22], lambda number: number // 3) == (4, 1, 14)
    assert votes([1], [2], lambda _: 0).total == 0


def test_a_case_in_two_sources_counts_once(tmp_path: Path) -> None:
    file = write(tmp_path, RULES + "  - {name: odd, expr: n % 2 == 0}\n")
    cases = cases_of(file, [({"n": 3}, True)] * 6)
    assert not tune(file, [*cases, *cases], backtest=False).suggestions


def test_silent_rules_do_not_make_labels_look_clearer() -> None:
    """With many clear results among the tests, the correction would let a doubtful one pass."""
    doubtful = Proposal("misfire", ("a",), "t", "w", 0.04, better=tuple(range(12)))
    unclear = [Proposal("misfire", (str(at),), "t", "w", 0.9) for at in range(3)]
    silent = [Proposal("dead", ("rules", at), "t", "w", 1e-9, unit=str(at)) for at in range(40)]
    found = choose([doubtful, *unclear, *silent])
    assert {one.proposal.kind for one in found} == {"dead"}
    assert {one.tests for one in found} == {40}


def test_replies_that_count_once_are_reported(tmp_path: Path) -> None:
    for kind, said in (
        ("misfire", "Each conversation has one vote: 30 votes."),
        ("threshold", "One reply of each conversation counts."),
    ):
        text, replies = TALKS[kind]
        file = write(tmp_path, text)
        cases = [
            msgspec.structs.replace(case, conversation=f"talk {at % (len(replies) * 2)}")
            for at, case in enumerate(cases_of(file, replies * 4))
        ]
        found = tune(file, [msgspec.structs.replace(case, id=f"{at}") for at, case in enumerate(cases)], backtest=False)
        assert said in found.suggestions[0].proposal.why
