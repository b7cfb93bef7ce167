"""Numbers in words, for the evidence next to each line of a draft, and line breaks that keep them together."""

from textwrap import wrap


def count(number: int) -> str:
    """A count with thousands separators.

    >>> count(1998)
    '1,998'
    """
    return f"{number:,}"


def share(part: float, whole: float) -> str:
    """A share in percent, with as many digits as it needs. Only all is 100 %, and only nothing is 0 %.

    >>> share(1998, 2000), share(1, 100_000), share(3, 4), share(2000, 2000)
    ('99.9 %', '< 0.1 %', '75 %', '100 %')
    """
    if not whole:
        return "0 %"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.1f} %".replace(".0 %", " %")


def seen(part: int, whole: int) -> str:
    """How often something was observed.

    >>> seen(1998, 2000)
    'in 1,998 of 2,000'
    """
    return f"in {count(part)} of {count(whole)}"


def things(number: int, thing: str) -> str:
    """A count with its noun.

    >>> things(1, "item"), things(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def lines_of(text: str, width: int) -> list[str]:
    """Text in lines of at most `width` characters. A number stays with its percent sign.

    >>> lines_of("at most 5 %", 9)
    ['at most', '5 %']
    """
    glued = wrap(text.replace(" %", "\0%"), width, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in glued]
