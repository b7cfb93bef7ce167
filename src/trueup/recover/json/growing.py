"""A value that grows while its text comes in: the partial value of a stream.

Chunks enter, in any cut; the value so far can be looked at after each. Every character is looked at once.
Plain JSON and the usual slips (fence, prose, reasoning, single quotes, bare keys, literals, trailing commas,
comments) are followed; at the first place that needs a guess about what comes later, growing stops and waits
for the end, where the whole text is judged anew. What is closed never changes.
"""

import re
from typing import Any

from trueup.recover.json.lexer import CLOSER_OF, COMMENT, SIMPLE_ESCAPES
from trueup.recover.json.tokens import read_token

_REASONING = re.compile(
    r"<(?:think|thinking|reasoning|thought|reflection|seed:think)>|<\|START_THINKING\|>|(?-i:\[THINK\])", re.IGNORECASE
)
_REASONING_END = re.compile(
    r"</(?:think|thinking|reasoning|thought|reflection|seed:think)>|<\|END_THINKING\|>|(?-i:\[/THINK\])", re.IGNORECASE
)
_START = re.compile(r"[{\[]|<(?=[a-z]{0,10}>?)")
_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_WORD = re.compile(r"[^\s,:}\]\"'/#]+")
_OBJECT_FOLLOWS = re.compile(r"""[{]\s*(?:["'}]|[A-Za-z_$][\w$]*\s*:)""")
_LIST_FOLLOWS = re.compile(r"""[\[]\s*(?:["'{\[\]]|-?\d|true|false|null)""")
_IN_STRING = frozenset({"string", "escape", "quote"})
_LONG = 1024
_MARGIN = 80
_TAG = 20  # longer than any that opens or closes reasoning
# A token that has not ended after so many characters is left to the end.
_MAX_TAIL = 4096


class Growing:
    """The value so far of a text that is still coming in."""

    __slots__ = (
        "_expect", "_grown", "_in_key", "_key", "_keys", "_parts", "_quote", "_shown", "_stack", "_tail",
        "closed", "lost", "max_depth", "root", "started",
    )  # fmt: skip

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self.root: Any = None
        self.started = False
        self.lost = False
        self.closed: list[tuple[str | int, Any]] = []  # members of the root that were closed since last looked at
        self._tail = ""
        self._stack: list[Any] = []
        self._expect = "start"
        self._key = ""
        self._keys: list[str] = []
        self._in_key = False
        self._quote = ""
        self._parts: list[str] = []
        self._grown = 0  # characters of the open string so far
        self._shown = 0  # how many of them the value shows, once there are many

    def feed(self, chunk: str) -> None:
        """Take the next characters."""
        text = self._tail + chunk
        at = 0
        while not (self.lost or self._expect == "done"):
            after = self._STEPS[self._expect](self, text, at)
            if after < 0:
                break
            at = after
        if self.lost or self._expect == "done":
            self._tail = ""
            return
        self._tail = text[at:] if at else text
        if len(self._tail) > _MAX_TAIL:
            self.lost = True

    @property
    def value(self) -> Any:
        """The value so far; an open string shows what has come of it. It is the live value, not a copy."""
        if self._expect in _IN_STRING and not self._in_key and self._stack:
            into = self._stack[-1]
            text = "".join(self._parts)
            self._parts = [text]
            self._shown = len(text) if len(text) > _LONG else 0
            self._grown = len(text)
            if isinstance(into, dict):
                into[self._key] = text
            elif self._open_item:
                into[-1] = text
        return self.root

    def glance(self) -> Any:
        """The value so far; a long open string is brought up to date only as it grows, so that feeding stays linear."""
        if self._expect == "string" and self._grown - self._shown < self._shown // 8:
            return self.root
        return self.value

    @property
    def _open_item(self) -> bool:
        return isinstance(self._stack[-1], list) and bool(self._stack[-1])

    # -- steps: each takes the text and an offset and returns the next offset, or -1 to wait for more ----------

    def _start(self, text: str, at: int) -> int:
        """Look for the opener of the value, past prose and reasoning."""
        found = _START.search(text, at)
        if found is None:
            return len(text) if at < len(text) else -1
        begin = found.start()
        if text[begin] == "<" or text.startswith("[THINK]", begin):
            return self._tag(text, begin)
        follows = (_OBJECT_FOLLOWS if text[begin] == "{" else _LIST_FOLLOWS).match(text, begin)
        if follows is None:
            return begin + 1 if len(text) - begin > _MARGIN else -1
        self.started = True
        return self._open(text[begin], begin)

    def _tag(self, text: str, begin: int) -> int:
        opened = _REASONING.match(text, begin)
        if opened is None:
            return begin + 1 if len(text) - begin > _TAG else -1
        self._expect = "reasoning"
        return opened.end()

    def _reasoning(self, text: str, at: int) -> int:
        closed = _REASONING_END.search(text, at)
        if closed is None:
            keep = max(at, len(text) - _TAG)
            return keep if keep > at else -1
        self._expect = "start"
        return closed.end()

    def _open(self, sign: str, at: int) -> int:
        value: Any = {} if sign == "{" else []
        if len(self._stack) >= self.max_depth:
            self.lost = True
            return at
        if self._stack:
            self._put(value)
        else:
            self.root = value
        self._stack.append(value)
        self._keys.append(self._key)
        self._expect = "key" if sign == "{" else "value"
        return at + 1

    def _put(self, value: Any) -> None:
        into = self._stack[-1]
        if isinstance(into, dict):
            into[self._key] = value
        else:
            into.append(value)

    def _token(self, text: str, at: int) -> int:
        """The offset of the next token, past white space and comments; -1 when it has not come yet."""
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        while at < len(text) and text[at] in "/#":
            comment = COMMENT.match(text, at)
            if comment is None or comment.end() == len(text):
                return -1
            at = _SPACE.match(text, comment.end()).end()  # type: ignore[union-attr]
        return at if at < len(text) else -1

    def _key_step(self, text: str, at: int) -> int:
        at = self._token(text, at)
        if at < 0:
            return -1
        sign = text[at]
        if sign in "\"'":
            return self._open_string(sign, at, in_key=True)
        if sign == "}":
            return self._close(sign, at)
        word = _WORD.match(text, at)
        if word is None or not (sign.isalpha() or sign in "_$"):
            return self._give_up(at)
        if word.end() == len(text):
            return -1
        return self._named(word[0], word.end())

    def _named(self, key: str, at: int) -> int:
        """A key has ended; one that was given before would change what is closed."""
        if key in self._stack[-1]:
            return self._give_up(at)
        self._key = key
        self._expect = "colon"
        return at

    def _colon(self, text: str, at: int) -> int:
        at = self._token(text, at)
        if at < 0:
            return -1
        if text[at] != ":":
            return self._give_up(at)
        self._expect = "value"
        return at + 1

    def _value(self, text: str, at: int) -> int:
        at = self._token(text, at)
        if at < 0:
            return -1
        sign = text[at]
        if sign in "{[":
            return self._open(sign, at)
        if sign in "\"'":
            return self._open_string(sign, at, in_key=False)
        if sign == "]" and isinstance(self._stack[-1], list):
            return self._close(sign, at)
        word = _WORD.match(text, at)
        if word is None:
            return self._give_up(at)
        if word.end() == len(text):
            return -1
        return self._bare(word[0], text, word.end())

    def _bare(self, token: str, text: str, after: int) -> int:
        """A number or literal that has come to its end; anything else waits for the whole text."""
        value, code = read_token(token)
        behind = self._token(text, after)
        if behind < 0:
            return -1
        if code not in (None, "S018", "S020") or text[behind] not in ",}]":
            return self._give_up(after)
        self._put(value)
        return self._after_value(after)

    def _open_string(self, sign: str, at: int, in_key: bool) -> int:
        self._quote = sign
        self._in_key = in_key
        self._parts = []
        self._grown = self._shown = 0
        self._expect = "string"
        if not in_key and isinstance(self._stack[-1], list):
            self._stack[-1].append("")
        elif not in_key:
            self._stack[-1][self._key] = ""
        return at + 1

    def _string(self, text: str, at: int) -> int:
        stop = _PLAIN[self._quote].match(text, at).end()  # type: ignore[union-attr]
        if stop > at:
            self._parts.append(text[at:stop])
            self._grown += stop - at
        if stop == len(text):
            return stop if stop > at else -1
        if text[stop] == "\\":
            return self._escape(text, stop)
        return self._end_string(text, stop)

    def _escape(self, text: str, at: int) -> int:
        sign = text[at + 1 : at + 2]
        if not sign:
            return self._wait(at)
        if sign != "u":
            plain = SIMPLE_ESCAPES.get(sign)
            if plain is None:
                return self._give_up(at)
            self._parts.append(plain)
            return at + 2
        digits = text[at + 2 : at + 6]
        if len(digits) < 4:
            return self._wait(at)
        high = int(digits, 16) if all(c in "0123456789abcdefABCDEF" for c in digits) else -1
        if 0xD800 <= high < 0xDC00:
            return self._pair(text, at, high)
        if high < 0 or 0xDC00 <= high < 0xE000:
            return self._give_up(at)
        self._parts.append(chr(high))
        return at + 6

    def _pair(self, text: str, at: int, high: int) -> int:
        low = text[at + 6 : at + 12]
        if len(low) < 6 and "\\u".startswith(low[:2]):
            return self._wait(at)
        try:
            second = int(low.removeprefix("\\u"), 16) if low.startswith("\\u") else 0
        except ValueError:
            second = 0
        if not 0xDC00 <= second < 0xE000:
            return self._give_up(at)
        self._parts.append(chr(0x10000 + ((high - 0xD800) << 10) + (second - 0xDC00)))
        return at + 12

    def _wait(self, at: int) -> int:
        """Wait for more at this very place: what stands before it is taken."""
        self._expect = "escape"
        return at

    def _escape_step(self, text: str, at: int) -> int:
        if len(text) - at < 12 and not self._enough(text, at):
            return -1
        self._expect = "string"
        return self._escape(text, at)

    def _enough(self, text: str, at: int) -> bool:
        sign = text[at + 1 : at + 2]
        if sign != "u":
            return bool(sign)
        if len(text) - at < 6:
            return False
        if text[at + 2] not in "dD" or text[at + 3] not in "89abAB":
            return True
        return len(text) - at >= 8 and text[at + 6 : at + 8] != "\\u"

    def _end_string(self, text: str, at: int) -> int:
        """A quote: the end of the string if what follows says so; else an inner quote, and growing stops."""
        behind = self._token(text, at + 1)
        if behind < 0:
            if at > 0:
                self._expect = "quote"
                return at
            return -1
        sign = text[behind]
        value = "".join(self._parts)
        if self._in_key:
            if sign != ":":
                return self._give_up(at)
            return self._named(value, at + 1)
        if sign not in ",}]":
            return self._give_up(at)
        into = self._stack[-1]
        if isinstance(into, dict):
            if sign == "," and not self._member_follows(text, behind + 1):
                return self._unsure(text, at, behind)
            into[self._key] = value
        else:
            into[-1] = value
        return self._after_value(at + 1)

    def _member_follows(self, text: str, at: int) -> bool:
        at = self._token(text, at)
        return at >= 0 and (text[at] in "\"'}_$" or text[at].isalpha())

    def _unsure(self, text: str, at: int, comma: int) -> int:
        if self._token(text, comma + 1) >= 0:
            return self._give_up(at)
        self._expect = "quote"
        return at

    def _quote_step(self, text: str, at: int) -> int:
        behind = self._token(text, at + 1)
        if behind < 0 or (text[behind] == "," and self._token(text, behind + 1) < 0):
            return -1
        self._expect = "string"
        return self._end_string(text, at)

    def _after_value(self, at: int) -> int:
        self._expect = "after"
        if len(self._stack) == 1:
            into = self._stack[0]
            slot: str | int = self._key if isinstance(into, dict) else len(into) - 1
            self.closed.append((slot, into[slot]))
        return at

    def _after(self, text: str, at: int) -> int:
        at = self._token(text, at)
        if at < 0:
            return -1
        sign = text[at]
        if sign == ",":
            self._expect = "key" if isinstance(self._stack[-1], dict) else "value"
            return at + 1
        return self._close(sign, at)

    def _close(self, sign: str, at: int) -> int:
        if sign != CLOSER_OF["{" if isinstance(self._stack[-1], dict) else "["]:
            return self._give_up(at)
        self._stack.pop()
        self._key = self._keys.pop()
        if not self._stack:
            self._expect = "done"
            return at + 1
        return self._after_value(at + 1)

    def _give_up(self, at: int) -> int:
        self.lost = True
        return at

    _STEPS = {
        "start": _start, "reasoning": _reasoning, "key": _key_step, "colon": _colon, "value": _value,
        "string": _string, "escape": _escape_step, "quote": _quote_step, "after": _after,
    }  # fmt: skip
