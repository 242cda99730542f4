"""Answers as students type them: numbers, letters and shapes in all their usual spellings.

Full-width forms of a Chinese keyboard are read as what they stand for. What can mean two things is
``Unreadable``, with a word on how to write it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction

from grader.questions.arithmetic import Undefined, Unreadable, check_names, evaluate, parse
from grader.questions.drawn import LETTERS

MOST_DIGITS = 300
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUPER = re.compile(r"[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
# Minus signs and dashes, times, divisions; then what a Chinese keyboard gives.
_SIGNS = str.maketrans(
    dict.fromkeys("\u2212\u2013\u2014", "-")
    | dict.fromkeys("\u00d7\u2715\u00b7\u2217", "*")
    | dict.fromkeys("\u00f7\u2044", "/")
    | {"、": ",", "。": ".", "→": ">", "≻": ">", "【": "[", "】": "]", "≈": "=", "\u2019": "'"}
)
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:[,_ ']\d{3})+(?![\d,])")
_EXPONENT = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)[eE]\+?(\d+)")
_LABELS = re.compile(r"\b(?:option|choice|answer)\b[ :=]?|选项|选|答案|答", re.IGNORECASE)
_SPLIT = re.compile(r"\s*(?:[,;|&/+>]|->|=>|\band\b|\bthen\b|和|与|及|\s)\s*")
_NONE = frozenset({"none", "none of them", "nothing", "-", "无", "都不", "都不是", "没有", "空"})
_CALLED = re.compile(r"^\s*[A-Za-z_]\w*\s*=(?!=)\s*")
_SHAPE = re.compile(r"^(?:torch\.)?(?:Size|shape)\s*", re.IGNORECASE)
_TIMES = re.compile(r"\s*[xX*]\s*|\s+")


def cleaned(text: str) -> str:
    """Return a typed text in plain characters; raises ``Unreadable`` for what hides in it."""
    text = _SUPER.sub(_as_power, text)
    text = "".join(char for char in text if char not in _INVISIBLE)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    for char in text:
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co") and char not in "\n\t\r":
            raise Unreadable(f"holds a character that does not show (U+{ord(char):04X})")
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _as_power(found: re.Match[str]) -> str:
    minus = "-" if found[0].startswith("⁻") else ""
    return f"^{minus}{found[0].lstrip('⁻').translate(_SUPERSCRIPTS)}"


def first_line(text: str) -> str:
    """Return the first line of an answer: what follows it is a remark."""
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def number(text: str, units: Iterable[str] = ()) -> Fraction:
    """Read ``1,024``, ``1e3``, ``3/4``, ``50 %``, ``2^10`` or ``1024 tokens``."""
    line = first_line(text).replace("`", "").replace("$", "").strip()
    line = line.rpartition("=")[2].strip().lstrip("~").strip().rstrip(".;").strip()
    line, percent = _without_unit(line, [unit for unit in map(cleaned, units) if unit])
    if re.fullmatch(r"[-+]?\d+,\d{1,2}|[-+]?\d+,\d{4,}", line):
        raise Unreadable("has a comma that may be a decimal point: write 1.5 or 1,024")
    value = _arithmetic(line)
    return value / 100 if percent else value


def _without_unit(line: str, units: Sequence[str]) -> tuple[str, bool]:
    """Leave a unit of the question out, also one of it; a bare % makes it a hundredth."""
    known = sorted({*units, *(unit[:-1] for unit in units if unit[-1:] == "s")}, key=len)
    for unit in reversed(known):
        if unit and line.casefold().endswith(unit.casefold()):
            return line[: -len(unit)].strip(), False
    return (line[:-1].strip(), True) if line.endswith("%") else (line, False)


def _arithmetic(text: str) -> Fraction:
    """Return the value of arithmetic in numbers alone."""
    if not text:
        raise Unreadable("holds no number")
    plain = _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    for found in _EXPONENT.finditer(plain):
        if int(found[1][:6]) > MOST_DIGITS:
            raise Unreadable("holds a number that is too large")
    if re.search(rf"\d{{{MOST_DIGITS},}}", plain):
        raise Unreadable("holds a number that is too large")
    plain = re.sub(r"(?<=[\d)])\s*x\s*(?=[\d(])", "*", plain).replace("^", "**")
    plain = re.sub(r"(?<![\w.])0+(?=\d)", "", plain)  # 007 is 7
    if words := re.search(r"[^\W\d_]{2,}|[^\W\d_eE](?![(])", re.sub(r"\b(?:min|max)\b", "", plain)):
        raise Unreadable(f"must be a number alone, without {words[0][:20]}")
    try:
        tree = parse(plain)
    except Unreadable:
        raise Unreadable("is no number") from None
    try:
        check_names(tree, ())
        return evaluate(tree, {})
    except Undefined as error:
        raise Unreadable(str(error)) from None


def choice(text: str, options: Sequence[Sequence[str]]) -> int:
    """Read one letter, or the words of an option; ``options`` has the wordings of each."""
    places = _places(first_line(text), options, ordered=False)
    if len(places) != 1:
        raise Unreadable("must be one letter")
    return places[0]


def choices(text: str, options: Sequence[Sequence[str]]) -> frozenset[int]:
    """Read letters in any order, such as ``b, d``; ``none`` for none of them."""
    if text.strip().strip("`.").casefold() in _NONE and not _worded(text, options):
        return frozenset()
    return frozenset(_places(text, options, ordered=False))


def order(text: str, options: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Read all letters in order, such as ``c > a > b``."""
    if "<" in text:
        raise Unreadable("must be in the order that is asked for, as c > a > b")
    places = _places(re.sub(r"(?m)^\s*\d+[.)]\s*", "", text), options, ordered=True)
    if sorted(places) != [*range(len(options))]:
        raise Unreadable(f"must name each of the {len(options)} options once")
    return tuple(places)


def _places(text: str, options: Sequence[Sequence[str]], *, ordered: bool) -> list[int]:
    """Return the places of the options that a text names, by letters or by their words."""
    if (found := _worded(text, options)) is not None:
        return [found]
    plain = _LABELS.sub("", text.replace("`", " ").replace("*", " "))
    known = LETTERS[: len(options)]
    letters = "".join(filter(None, _SPLIT.split(re.sub(r"[().\[\]{}:'\"]", " ", plain)))).lower()
    if letters and all(char in known for char in letters) and _are_letters(plain):
        if len(set(letters)) < len(letters):
            raise Unreadable("names a letter twice")
        return [known.index(char) for char in letters]
    parts = re.split(r"\n|;|->|=>|>" if ordered else r"\n|;", text)
    parts = parts if len([p for p in parts if p.strip()]) > 1 else text.split(",")
    worded = [_lettered(part, options) for part in parts if part.strip()]
    if worded and all(place is not None for place in worded):
        return [place for place in worded if place is not None]
    last = known[-1]
    raise Unreadable(f"must be letters from a to {last}" if known else "has no options")


def _are_letters(text: str) -> bool:
    """Whether letters are no word: single ones, or a run that names none twice."""
    return all(len(set(word)) == len(word) for word in re.findall(r"[a-z]+", text.lower()))


def _worded(text: str, options: Sequence[Sequence[str]]) -> int | None:
    said = _bare(text)
    same = (place for place, words in enumerate(options) if said in map(_bare, words))
    return next(same, None)


def _lettered(text: str, options: Sequence[Sequence[str]]) -> int | None:
    """Return the option that a part names: by its words, or by its letter before them."""
    if (found := _worded(text, options)) is not None:
        return found
    label = re.match(r"\W*([a-zA-Z])\W*(?:$|[.):\s]\s*(.+))", text.strip(), re.DOTALL)
    if label is None or label[1].lower() not in LETTERS[: len(options)]:
        return None
    place = LETTERS.index(label[1].lower())
    return place if not label[2] or _worded(label[2], options) == place else None


def _bare(text: str) -> str:
    return " ".join(cleaned(text).replace("`", "").strip().rstrip(".").split()).casefold()


def shape(text: str) -> tuple[int, ...]:
    """Read ``(2, 8, 1, 513)``, ``[2, 8, 1, 513]`` or ``2 x 8 x 1 x 513``."""
    line = _CALLED.sub("", first_line(text).replace("`", "").replace("$", "").strip())
    inside = _SHAPE.sub("", line).strip().rstrip(".;").strip()
    while len(inside) > 1 and inside[0] + inside[-1] in ("()", "[]"):
        inside = inside[1:-1].strip()
    if not inside and line:
        return ()
    if "," in inside:
        parts = inside.removesuffix(",").split(",")
    else:
        parts = [part for part in _TIMES.split(inside) if part]
    if not parts or len(parts) > 20:
        raise Unreadable("must be a shape, such as (2, 8, 1)")
    values = [_arithmetic(part.strip()) for part in parts]
    if any(value.denominator != 1 for value in values):
        raise Unreadable("must hold whole numbers")
    return tuple(value.numerator for value in values)


def formula(text: str) -> str:
    """Return the expression of a formula, without the name that it may be given."""
    line = " ".join(text.replace("`", " ").replace("$", " ").split())
    return _CALLED.sub("", line).rstrip(";").strip()
