"""What a word is, in a text with spaces and in Chinese, which has none between its words.

A Han character is a word of its own here and weighs half of one, as most Chinese words have two:
so no dictionary is needed, and a limit in words is as strict in one language as in the other.
Standard library only.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # for [...]
LETTER = rf"[^\W{HAN}]"  # of a name: what stands beside it in Chinese is another word
HAN_WEIGHT = 0.5

_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(rf"[{HAN}]|{LETTER}+")
_TOKEN = re.compile(rf"[{HAN}]|{LETTER}+|[^\w\s]")
# Letters, digits and signs as wide as a Han character, to the same of ASCII; the space that is in
# a wide comma, colon or semicolon comes behind it.
_WIDE = {0x3000: " "} | {
    0xFEE0 + ord(sign): f"{sign} " if sign in ",:;" else sign
    for sign in map(chr, range(0x21, 0x7F))
}


def halfwidth(text: str) -> str:
    """Put ASCII for the wide letters, digits and signs of Chinese keyboards."""
    return text.translate(_WIDE)


def words(text: str) -> list[str]:
    """Give the words and names of a text in lower case, each Han character for itself."""
    return _WORD.findall(text.lower())


def tokens(text: str) -> list[str]:
    """Give the words of a text and its signs."""
    return _TOKEN.findall(text)


def has_han(text: str) -> bool:
    """True if a Han character is in a text."""
    return _HAN.search(text) is not None


def weight(token: str) -> float:
    """Give how many words a token is worth: a half for each Han character, else 1."""
    number = len(_HAN.findall(token))
    return max(HAN_WEIGHT * number, float(number < len(token)))


def weigh(found: Iterable[str]) -> float:
    """Give how many words some tokens are worth together."""
    return sum(map(weight, found))


def runs(found: Sequence[str], length: int) -> Iterator[tuple[int, int]]:
    """Yield from each token on the shortest run that is worth ``length`` words: start and end."""
    weights = [weight(token) for token in found]
    end, held = 0, 0.0
    for at, lost in enumerate(weights):
        while held < length and end < len(weights):
            held += weights[end]
            end += 1
        if held < length:
            return
        yield at, end
        held -= lost
