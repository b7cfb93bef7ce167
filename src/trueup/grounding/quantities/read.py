"""A short string with one quantity and nothing else: "$4.2B", "5 kg", "two hundred", "三百二十".

Takes the string; returns its quantity, or None if the string contains anything else.
"""

from trueup.grounding.quantities.find import Quantity, quantities

_LONGEST = 400  # characters; a longer string is only a quantity if it consists of figures


def read_quantity(text: str) -> Quantity | None:
    """The quantity that a whole string means, or None.

    >>> read_quantity(" 5 kg ").unit, read_quantity("two hundred").values, read_quantity("5 apples")
    ('kg', ('200',), None)
    """
    trimmed = text.strip()
    if not trimmed or (len(trimmed) > _LONGEST and not trimmed.isdecimal()):
        return None
    begin = len(text) - len(text.lstrip())
    found = [q for q in quantities(trimmed) if q.start == 0 and q.end == len(trimmed)]
    if not found:
        return None
    best = found[0]
    values = tuple(
        dict.fromkeys(value for quantity in found if quantity.unit == best.unit for value in quantity.values)
    )
    return best._replace(start=begin, end=begin + best.end, values=values)
