"""Random functions for expressions: the methods of one seeded generator, with CPython's exact results.

A `random.Random` enters; functions for `compile_expression(…, functions=…)` leave, each under its plain name and as
`random.…`. What would change its argument gives a changed copy; how much may be drawn at once is bounded.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trueup.expressions.errors import ExpressionError

if TYPE_CHECKING:
    from random import Random

_MOST = 100_000
_PLAIN = (
    "random randint randrange uniform choice gauss normalvariate lognormvariate triangular betavariate expovariate"
    " gammavariate paretovariate vonmisesvariate weibullvariate".split()
)


def random_functions(draw: "Random") -> dict[str, Callable[..., Any]]:
    """The functions of a seeded generator.

    >>> from random import Random
    >>> from trueup.expressions.language import compile_expression
    >>> roll = compile_expression("randint(1, 6) + bonus", functions=random_functions(Random(7)))
    >>> roll.evaluate({"bonus": 10}) == Random(7).randint(1, 6) + 10
    True
    """

    def shuffle(items: Any) -> list[Any]:
        copy = list(items)
        draw.shuffle(copy)
        return copy

    def sample(population: Any, k: Any) -> list[Any]:
        return draw.sample(population, _bounded(k))

    def choices(population: Any, weights: Any = None, *, k: Any = 1) -> list[Any]:
        return draw.choices(population, weights, k=_bounded(k))

    functions: dict[str, Callable[..., Any]] = {name: getattr(draw, name) for name in _PLAIN}
    functions.update(shuffle=shuffle, sample=sample, choices=choices)
    return {**functions, **{f"random.{name}": function for name, function in functions.items()}}


def _bounded(count: Any) -> Any:
    if isinstance(count, int) and count > _MOST:
        raise ExpressionError(f"at most {_MOST:,} are drawn at once")
    return count
