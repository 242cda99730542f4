"""By which words one knows a person in what others wrote, and how these are taken out.

What people write names somebody by any id. What programs write (reports, say) has many short words
of its own, so that only what could mean nobody else counts there: a full name, an e-mail address,
an id of letters and digits, a long number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

GONE = "[forgotten]"
ANOTHER = "[another student]"
_TELLING = re.compile(r"(?=.*\d)(?=.*[a-z]).{3,}|.*@.*|\d{5,}", re.IGNORECASE)
_FEWEST = 3  # characters of a word that is looked for at all
_FEWEST_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Known:
    """A person as a roster knows them; what is not known is empty."""

    id: str
    name: str = ""
    email: str = ""
    others: tuple[str, ...] = ()  # numbers and logins that other programs have for them

    @property
    def ids(self) -> tuple[str, ...]:
        """All that stands for the person and no one else."""
        return tuple(dict.fromkeys(text for text in (self.id, self.email, *self.others) if text))


class Words:
    """Finds people in texts."""

    def __init__(self, people: Iterable[Known], instead: str = GONE) -> None:
        found = [*people]
        names = [name for person in found for name in _names(person.name)]
        ids = [text for person in found for text in person.ids if _is_word(text)]
        telling = [*names, *(text for text in ids if _TELLING.fullmatch(text))]
        self._instead = instead
        self._loose = _pattern(ids, telling)
        self._strict = _pattern((), telling)

    def are_in(self, text: str, *, strict: bool = False) -> bool:
        """Whether a text names one of them."""
        return (self._strict if strict else self._loose).search(text) is not None

    def without(self, text: str, *, strict: bool = False) -> str:
        """Return a text that names none of them."""
        return (self._strict if strict else self._loose).sub(self._instead, text)

    def out_of(self, value: Any) -> Any:
        """Return a copy of JSON in which no text names them."""
        match value:
            case str():
                return self.without(value, strict=True)
            case dict():
                return {k: self.out_of(v) for k, v in cast(dict[str, Any], value).items()}
            case list():
                return [self.out_of(item) for item in cast(list[Any], value)]
            case _:
                return value


def _names(name: str) -> list[str]:
    """Return how a whole name is written, first or last name first; one word may mean anything."""
    plain = " ".join(name.split())
    last, comma, first = plain.partition(", ")
    if comma:
        return [plain, f"{first} {last}"]
    start, _, end = plain.rpartition(" ")
    return [plain, f"{end}, {start}", f"{end} {start}"] if start else []


def _is_word(text: str) -> bool:
    return len(text) >= (_FEWEST_DIGITS if text.isdecimal() else _FEWEST)


def _pattern(words: Iterable[str], telling: Iterable[str]) -> re.Pattern[str]:
    """Match words that are no part of a longer one, or of a longer id; telling ones in any case."""
    any_case = {*telling}
    longest = sorted({*words} | any_case, key=len, reverse=True)
    if not longest:
        return re.compile(r"(?!)")
    forms = [r"\s+".join(map(re.escape, word.split())) for word in longest]
    text = "|".join(
        f"(?i:{form})" if word in any_case else form
        for word, form in zip(longest, forms, strict=True)
    )
    return re.compile(rf"(?<![\w@+-])(?<!\w\.)(?:{text})(?![\w@+]|[-.]\w)")
