"""How the words of a message agree with what they are about, which tests name as they like.

What is named is one thing or several by its head, the last word before "of", "that" and their like:
"the keys that update returns" are several, "keys[0]" is one.
"""

import re

VERBS = {
    **{"is": "are", "has": "have", "holds": "hold", "was": "were", "lies": "lie"},
    **{"comes": "come", "goes": "go", "stays": "stay", "serves": "serve"},
}
PRONOUNS = {"it": "they"}
# What begins to say more of a head.
MORE = frozenset(
    "of on at for with without that which after before behind beside in from as to between where"
    " when over by while".split()
)
# They end as several things do, and are one.
ONE = frozenset({"bias", "dbias", "loss", "axis", "basis", "in_features", "out_features"})

# What tests count, and how they tell such things apart.
NOUNS = (
    *("time", "row", "token", "value", "prompt", "step", "size", "object", "tensor", "graph"),
    *("call", "block", "byte", "element", "number", "key", "draw", "text", "guess", "list", "rank"),
    *("scale", "item", "round", "cache", "launch", "table", "replay", "request", "layer", "place"),
    *("program", "bucket", "copy", "operator", "group", "position", "slot", "second", "length"),
)
KINDS = ("new", "first", "different", "other", "more", "wrong", "removed", "shared", "empty")
ONE_OF = re.compile(
    rf"(?<![\w.,/\[(-])1 ((?:{'|'.join(KINDS)}) )?((?:{'|'.join(NOUNS)})e?s)\b"
    rf"(?: ({'|'.join(VERBS.values())})\b)?"
)


def are_several(what: str) -> bool:
    """Tell whether a name is that of several things."""
    words = what.split()
    end = next((place for place, word in enumerate(words) if word in MORE), len(words))
    head = words[end - 1].rstrip(",") if end else ""
    if not head or words[0] in ("what", "how") or head in ONE:
        return False
    return head.endswith("s") and head.replace("_", "").isalpha()


def agreeing(what: str, verb: str) -> str:
    """Return a name and the verb that belongs to it: "keys have"."""
    return f"{what} {VERBS[verb] if are_several(what) else verb}"


def pronoun(what: str) -> str:
    """Return "it", or "they"."""
    return PRONOUNS["it"] if are_several(what) else "it"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "2 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def item(index: int, what: str) -> str:
    """Name an item of a list, which may be an item itself: "item 1 of x", "[1][0] of x"."""
    match = re.match(r"(?:item (\d+)|((?:\[\d+\])+)) of (.*)", what, re.DOTALL)
    if match is None:
        return f"item {index} of {what}"
    outer = f"[{match[1]}]" if match[1] else match[2]
    return f"{outer}[{index}] of {match[3]}"


def singular(text: str) -> str:
    """Put the nouns behind a 1 into the singular, where a test has put them behind any number."""
    return ONE_OF.sub(lambda found: f"1 {found[1] or ''}{_one(found[2])}{_verb(found[3])}", text)


def _one(nouns: str) -> str:
    return next(noun for noun in NOUNS if nouns in (f"{noun}s", f"{noun}es"))


def _verb(verb: str | None) -> str:
    one = {many: one for one, many in VERBS.items()} | {"were": "was"}
    return f" {one[verb]}" if verb else ""
