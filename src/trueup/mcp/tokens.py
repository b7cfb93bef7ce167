"""Estimate an upper limit for the tokens of a text: real tokenizers rarely count more.

No tokenizer is loaded and nothing is downloaded. `tests/mcp/test_tokens.py` compares the estimate with the tokenizers of OpenAI and
Anthropic on prose, code, JSON, random characters and many scripts.
"""

from trueup.verdict.patterns import lazy_regex

# Tokenizers join letters that often follow each other in English. A pair that is not listed here usually separates two
# tokens.
_PAIRS = frozenset(
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce "
    "li ch ll be ma si om ur el la ns ta ca di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em "
    "ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay "
    "ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu rn sc gi da yo cr cl du ga qu ue ff ba ey ls va "
    "um pp ua up lu go ht ru ug ds lt pi rc rr eg au ck ew mu br bi pt ak pu ui rg ib tl ny ki rk ys ob mm fu ph og ms ye ud mb ip "
    "ub oi rl gu dr hr cc tw ft wn nu af hu nn eo vo rv nf xp gn sm fl iz ok nl my gl aw ju oa eq sy sl ps jo lf nv je nk kn gs dy "
    "hy ze ks xt bs ik dd rp sk xi oe oy ws lv dl rf eu dg wr xa yi nm eb rb tm xc eh tc gy ja hn yp za gg ym sw bj lm cs ii ix xe "
    "oh lk dv lp ax ox uf dm iu sf bt ka yt ek pm ya gt wl rh yl hs ah yc yb hf tn".split()
)
_RUN = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|(\s)\1*|[^\x00-\x7f]|.")
_THREE_BYTES, _FOUR_BYTES = "\u0800", "\U00010000"  # the first characters of that size


def estimate(text: str) -> int:
    """The estimated maximum number of tokens in a text.

    >>> estimate("Every reply is judged by its contract."), estimate("Kx9-qZ7w")
    (15, 8)
    """
    return int(sum(_cost(match.group()) for match in _RUN.finditer(text))) + 1


def _cost(run: str) -> float:
    first, size = run[0], len(run)
    if not first.isascii():
        return _cost_beyond_ascii(first)
    if first.isspace():
        return 0.0 if run == " " else 1 + size / 16
    if first.isdigit():
        return 0.3 + 0.55 * size
    if not first.isalpha():
        return 1.0
    if run[-1].isupper():
        return 0.5 + 0.6 * size
    small = run.lower()
    rare = sum(small[at : at + 2] not in _PAIRS for at in range(size - 1))
    return 1 + 0.26 * (size - 1) + 0.8 * rare


def _cost_beyond_ascii(letter: str) -> float:
    if letter < _THREE_BYTES:
        return 1.9
    return 3.0 if letter < _FOUR_BYTES else 4.0
