"""Translate what was said by the sentences of a catalogue: ``{what} has shape {list}, …``.

The places of a sentence take what stands in the text between its fixed words, from left to right;
no text, however long and by whomever, makes that take more than a walk along it. In a translation
``{told:say}`` is what stands there, translated in its turn; ``{why:each}`` holds sentences that
"; " parts.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.grammar import KINDS, NOUNS, VERBS

DEPTH = 4  # of sentences inside of sentences
MOST_STARTS = 50  # at which one sentence is looked for inside of a text
FIXED = 4  # letters of a sentence that may have anything in its places
TELLING = 4  # letters of a sentence by which a line of a message is known
_NUMBERS = ("count", "get", "most", "now", "total")  # names of places
_NUMBER = re.compile(r"[\d.,]+")
_PLACE = re.compile(r"\{([a-z_0-9]*)(:say|:each)?\}")
_AGREEING = re.compile(rf" (?:{'|'.join(VERBS)})\b")
_SEVERAL = re.compile(rf"^( (?:(?:{'|'.join(KINDS)}) )?(?:{'|'.join(NOUNS)}))(e?s)\b")
_HANGING = (" ", ",", ";", ":", "(")  # how what is put behind something else begins


@dataclass(frozen=True, slots=True)
class Sentence:
    """An English sentence with places, and its translation."""

    source: str
    target: str
    names: tuple[str, ...]  # of the places, in order
    letters: int  # how much of it is fixed
    marks: int  # the same with spaces and signs
    key: str  # the longest of what is fixed and the same for one thing or several
    patterns: tuple[re.Pattern[str], ...]  # of what is fixed, around the places

    @classmethod
    def of(cls, source: str, target: str) -> "Sentence":
        """Take a sentence apart."""
        source = source.replace("{verb}", "is")  # one of two words
        pieces = _PLACE.split(source)[::3]
        fixed = [piece.replace("{{", "{").replace("}}", "}") for piece in pieces]
        names = tuple(found[1] for found in _PLACE.finditer(source))
        whole = "".join(fixed)
        letters = sum(map(str.isalpha, whole))
        key = max((part for piece in fixed for part in _same(piece)), key=len)
        patterns = tuple(re.compile(_any_number(piece)) for piece in fixed)
        return cls(source, target, names, letters, len(whole), key, patterns)

    def starts(self, text: str) -> Iterator[int]:
        """Go through the places where it may begin in a text."""
        found = itertools.islice(self.patterns[0].finditer(text), MOST_STARTS)
        return (match.start() for match in found)

    def values(self, text: str) -> list[str] | None:
        """Return what stands in the places of a text, None for another sentence."""
        first, *others = self.patterns
        found = first.match(text)
        if found is None or (not others and found.end() < len(text)):
            return None
        values: list[str] = []
        end = found.end()
        for at, pattern in enumerate(others, 1):
            last = at == len(others)
            found = _at_the_end(pattern, text, end) if last else pattern.search(text, end)
            if found is None:
                return None
            values.append(text[end : found.start()])
            end = found.end()
        return values


def _same(piece: str) -> list[str]:
    """Return what of fixed words is the same for one thing and for several."""
    return [part for run in _SEVERAL.sub("\0", piece).split("\0") for part in _AGREEING.split(run)]


def _any_number(piece: str) -> str:
    """Return a pattern of fixed words whose verbs may be those of one thing or of several.

    So may a noun that begins them: what stands before it may be a number.
    """
    escaped = re.escape(piece).replace(r"\ ", " ")
    escaped = _SEVERAL.sub(lambda nouns: f"{nouns[1]}(?:{nouns[2]})?", escaped)
    return _AGREEING.sub(lambda verb: f" (?:{verb[0][1:]}|{VERBS[verb[0][1:]]})", escaped)


def _at_the_end(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str] | None:
    """Find fixed words that end a text; there are at most two lengths of them by their verbs."""
    if not pattern.pattern:
        return re.compile("").match(text, len(text))
    tail = re.compile(f"(?:{pattern.pattern})$")
    return tail.search(text, max(start, len(text) - 2 * len(pattern.pattern)))


class Catalogue:
    """Translations of whole texts and of sentences."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._whole = {source: target for source, target in pairs.items()}
        sentences = [Sentence.of(s, t) for s, t in pairs.items() if _PLACE.search(s)]
        self._sentences = sorted(
            sentences, key=lambda item: (-item.letters, item.source[0] == "{", -item.marks)
        )
        self._hanging = [item for item in self._sentences if item.source.startswith(_HANGING)]
        self._hanging += [Sentence.of(s, t) for s, t in pairs.items() if s.startswith(_HANGING)]

    def say(self, text: str, telling: int = 0, depth: int = DEPTH) -> str:
        """Return a text in the other language, or as it is; ``telling``: letters that it takes."""
        if text in self._whole:
            return self._whole[text]
        if not depth or not text.strip():
            return text
        for sentence in self._sentences:
            if sentence.letters < telling:
                break
            values = sentence.values(text) if sentence.key in text else None
            if values is not None and self._fits(sentence, values, depth - 1):
                return self._told(sentence, values, depth - 1)
        return self._with_tail(text, depth - 1)

    def _with_tail(self, text: str, depth: int) -> str:
        """Return a text that no sentence fits, told in two if what ends it hangs on the rest."""
        cut = self._cut(text)
        if not 0 < cut < len(text):
            return text
        head = self.say(text[:cut], depth=depth)
        known = head != text[:cut] or " " not in head
        return head + self.say(text[cut:], depth=depth) if known else text

    def _fits(self, sentence: Sentence, values: list[str], depth: int) -> bool:
        """Tell whether so few fixed words say enough: else each place holds one word or a list."""
        enough = sentence.letters >= FIXED or sentence.marks > 2 * FIXED
        return enough or all(
            self._holds(name, value, depth)
            for name, value in zip(sentence.names, values, strict=True)
        )

    def say_each(self, text: str, depth: int = DEPTH) -> str:
        """Return sentences that "; " parts, each in the other language."""
        return "；".join(self.say(part, depth=depth) for part in _parts(text))

    def _holds(self, name: str, value: str, depth: int) -> bool:
        """Tell whether a place holds what it should by its name: a number, else a word or two."""
        if name.rstrip("0123456789") in _NUMBERS:
            return _NUMBER.fullmatch(value) is not None
        one = " " not in value.strip().replace(", ", ",")
        return bool(value) and (one or self.say(value, depth=depth) != value)

    def said(self, message: str) -> str:
        """Return a message line by line; of what is another's own words only a chance remains."""
        return "\n".join(self._line(line) for line in message.split("\n"))

    def _line(self, line: str) -> str:
        told = self.say(line, TELLING)
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if told == line and indent:
            told = indent + self.say(bare, TELLING)
        label, colon, rest = bare.partition(": ")
        if told == line and colon and label in self._whole:
            return f"{indent}{self._whole[label]}：{self.say(rest, TELLING)}"
        return told

    def _told(self, sentence: Sentence, values: list[str], depth: int) -> str:
        known: dict[str, str] = {}
        for name, value in zip(sentence.names, self._parted(sentence, values), strict=True):
            known.setdefault(name, value)

        def put(place: re.Match[str]) -> str:
            value = known.get(place[1], place[0])
            if place[2] == ":each":
                return self.say_each(value, depth)
            return self.say(value, depth=depth) if place[2] else value

        text = _PLACE.sub(put, sentence.target)
        return text.replace("{{", "{").replace("}}", "}")

    def _parted(self, sentence: Sentence, values: list[str]) -> Iterable[str]:
        """Give each place its own where two touch: the second is what hangs on the first."""
        touching = [found.end() for found in _PLACE.finditer(sentence.source)]
        begins = {found.start() for found in _PLACE.finditer(sentence.source)}
        parted = [*values]
        for at, end in enumerate(touching[:-1]):
            if end in begins:
                both = parted[at] + parted[at + 1]
                cut = self._cut(both)
                parted[at], parted[at + 1] = both[:cut], both[cut:]
        return parted

    def _cut(self, text: str) -> int:
        """Return where in a text something begins that hangs on what is before it."""
        places = [
            start
            for item in self._hanging
            for start in item.starts(text)
            if item.values(text[start:]) is not None
        ]
        return min(places, default=len(text))


def _parts(text: str) -> list[str]:
    """Cut a text where "; " stands outside of all brackets."""
    parts, open_ = [""], 0
    for piece in re.split(r"(; )", text):
        if piece == "; " and open_ <= 0:
            parts.append("")
            continue
        open_ += piece.count("(") - piece.count(")")
        parts[-1] += piece
    return parts
