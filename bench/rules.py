"""Business rules: one evaluation beside Python itself and asteval, and what compiling a rule costs."""

from typing import Any

from timing import race

Result = dict[str, Any]
RECORD: Result = {
    "hp": 3,
    "max_hp": 9,
    "wound_count": 2,
    "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0},
    "total": 11,
    "items": [{"price": 2, "count": 3}, {"price": 5, "count": 1}],
}
RULES = {
    "hp <= max_hp": lambda r: r["hp"] <= r["max_hp"],
    "wound_count == len([v for v in wounds.values() if v > 0])": lambda r: (
        r["wound_count"] == len([v for v in r["wounds"].values() if v > 0])
    ),
    "'wounds' in dir() and 'wound_count' in dir()": lambda r: "wounds" in r and "wound_count" in r,
    "sum(i['price'] * i['count'] for i in items) == total": lambda r: (
        sum(i["price"] * i["count"] for i in r["items"]) == r["total"]
    ),
}
PEERS = ("trueup", "Python function", "eval() of a code object", "asteval", "asteval, from text")


def _asteval(source: str) -> dict[str, Any] | str:
    """asteval with its names set once: from a tree that is parsed once, and from the text as rules are usually run."""
    try:
        from asteval import Interpreter
    except ImportError:
        return "not installed"
    other = Interpreter(use_numpy=False)
    other.symtable.update(RECORD)
    result = other.eval(source, show_errors=False)
    if other.error:
        return "fails"
    if result is not True:
        return "wrong"
    tree = other.parse(source)
    return {"asteval": lambda: other.run(tree), "asteval, from text": lambda: other.eval(source, show_errors=False)}


def rules(rounds: int) -> Result:
    """CPU µs of one evaluation of each rule; of compiling it; of a whole contract with rules."""
    from trueup import Contract
    from trueup.expressions.language import compile_expression

    evaluated: dict[str, Any] = {}
    for source, function in RULES.items():
        rule = compile_expression(source)
        evaluate, code = rule.evaluate, compile(source, "rule", "eval")
        names = {**RECORD, "dir": lambda: RECORD}
        calls = {
            "trueup": lambda evaluate=evaluate: evaluate(RECORD),
            "Python function": lambda function=function: function(RECORD),
            "eval() of a code object": lambda code=code, names=names: eval(code, names),
        }
        assert rule.evaluate(RECORD) is True
        other = _asteval(source)
        if isinstance(other, dict):
            calls.update(other)
        evaluated[source] = race(calls, rounds)
        if isinstance(other, str):
            evaluated[source] |= dict.fromkeys(PEERS[3:], other)
    compiled = race({source: lambda source=source: compile_expression(source) for source in RULES}, rounds)
    text = '{"hp": 3, "max_hp": 9, "wound_count": 2, "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0}}'
    schema = {"type": "object", "required": ["hp"], "properties": {"hp": {"type": "integer"}}}
    plain, ruled = Contract(schema), Contract(schema, rules=list(RULES)[:3])
    whole = race({"without rules": lambda: plain.check(text), "with three rules": lambda: ruled.check(text)}, rounds)
    return {"evaluated": evaluated, "compiled": compiled, "whole": whole}


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    rows = []
    for source, times in data["evaluated"].items():
        shown = [value if isinstance(value := times[name], str) else f"{value:.2f}" for name in PEERS]
        rows.append(
            [source, *shown, f"{times['trueup'] / times['Python function']:.2f}×", f"{data['compiled'][source]:.0f}"]
        )
    whole = data["whole"]
    note = (
        "CPU µs of one evaluation, of compiling the rule once, and trueup's time over that of the same rule written as a "
        "Python function. asteval is given its names once and not for each record; it has no generator expressions, and "
        f"its dir() does not give the names of the record. A check of a small reply takes {whole['without rules']:.1f} µs without rules and "
        f"{whole['with three rules']:.1f} µs with three."
    )
    return "Business rules", note, ["rule", *PEERS, "trueup / Python", "compiled"], rows
