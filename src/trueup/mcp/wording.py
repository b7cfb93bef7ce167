"""Wording: takes a message of the studio or the command line, and returns it in the words of the MCP server.

The tools use parts of both. Their messages name options and places that a client of this server does not have.
"""

from collections.abc import Iterable

from trueup.verdict.patterns import lazy_regex

_PHRASES = (
    ("the studio's folders", "the served folders"),
    ("the studio's log", "the log of the server"),
    ("log of the studio", "log of the server"),
    ("of this studio", "of this server"),
    ("by the studio", "by this server"),
    ("in front of the studio", "in front of this server"),
    ("The studio", "The server"),
    ("Start the studio", "Start the server"),
    ("text has at most", "words has at most"),  # the filter `words` of `examples`
)
_OPTION = lazy_regex(r"--([a-z]+(?:-[a-z]+)*)(?: [A-Z]+\b)?")


def reworded(message: str, arguments: Iterable[str] = ()) -> str:
    """A message in which the studio is this server, and options are the arguments of a tool.

    >>> reworded("name the field: --reply-column NAME", ["reply_column"])
    'name the field: `reply_column`'
    >>> (
    ...     reworded("Only files in the studio's folders are read."),
    ...     reworded("Start it with --store verdicts.db.", ["store_it"]),
    ... )
    ('Only files in the served folders are read.', 'Start it with --store verdicts.db.')
    """
    for studio, ours in _PHRASES:
        message = message.replace(studio, ours)
    known = {argument.replace("_", "-"): argument for argument in arguments}
    return _OPTION.sub(lambda match: f"`{known[match[1]]}`" if match[1] in known else match[0], message)
