"""A TOML table that is read key by key: each error names file and key, no key goes unread."""

from dataclasses import dataclass, field
from typing import Any, cast

from grader.errors import LabError
from grader.text import visible_line

_NO_DEFAULT: Any = object()
MOST = 1 << 31  # of any number; no limit, point or ratio is near it


@dataclass(frozen=True, slots=True)
class Table:
    """One table of ``file``; ``where`` is its key path ("" for the top)."""

    file: str
    where: str
    data: dict[str, Any]
    _asked: set[str] = field(default_factory=set[str])

    def error(self, key: str, problem: str) -> LabError:
        """Make the error for a key."""
        path = f"{self.where}.{key}" if self.where else key
        return LabError(visible_line(f"{self.file}: {path}: {problem}"))

    def value(self, key: str, default: Any = _NO_DEFAULT) -> Any:
        """Whatever stands there, for the caller to check; without a default it must be there."""
        self._asked.add(key)
        value = self.data.get(key, default)
        if value is _NO_DEFAULT:
            raise self.error(key, "is missing")
        return value

    def text(self, key: str, default: str = _NO_DEFAULT) -> str:
        """A string; without a default it must be there and not be blank."""
        value = self.value(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"must be a string, not {kind_of(value)}")
        if default is _NO_DEFAULT and not value.strip():
            raise self.error(key, "must not be empty")
        return value

    def flag(self, key: str) -> bool:
        """True or false; absent means false."""
        value = self.value(key, False)
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, not {kind_of(value)}")
        return value

    def number(self, key: str, default: float = _NO_DEFAULT) -> float:
        """A number above 0 and at most ``MOST``."""
        value = self.value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"must be a number, not {kind_of(value)}")
        self._in_range(key, value, MOST)
        return float(value)

    def whole(self, key: str, default: int = _NO_DEFAULT, most: int = MOST) -> int:
        """A whole number above 0 and at most ``most``."""
        value = self.value(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, f"must be a whole number, not {kind_of(value)}")
        self._in_range(key, value, most)
        return value

    def _in_range(self, key: str, value: float, most: int) -> None:
        if not value > 0:
            raise self.error(key, f"must be above 0, not {value}")
        if not value <= most:
            raise self.error(key, f"must be at most {most}, not {value}")

    def texts(self, key: str, default: tuple[str, ...] = _NO_DEFAULT) -> tuple[str, ...]:
        """A list of strings, none of them blank or twice in it."""
        values = self.value(key, default)
        if values is default:
            return default
        if not isinstance(values, list):
            raise self.error(key, f"must be a list of strings, not {kind_of(values)}")
        items = cast(list[Any], values)
        for item in items:
            if not isinstance(item, str) or not item.strip():
                raise self.error(key, f"must hold strings only, not {item!r}")
            if items.count(item) > 1:
                raise self.error(key, f"holds {item!r} twice")
        return tuple(items)

    def table(self, key: str) -> "Table":
        """A table inside this one; absent means empty."""
        value = self.value(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table, not {kind_of(value)}")
        return self._inner(key, cast(dict[str, Any], value))

    def tables(self, key: str, default: tuple["Table", ...] = _NO_DEFAULT) -> tuple["Table", ...]:
        """A list of tables, at least one without a default."""
        values = self.value(key, default)
        if values is default:
            return default
        if not isinstance(values, list) or not values:
            raise self.error(key, f"must be a list of tables: [[{key}]]")
        found: list[Table] = []
        for index, value in enumerate(cast(list[Any], values), 1):
            if not isinstance(value, dict):
                raise self.error(key, f"must be a list of tables: [[{key}]]")
            found.append(self._inner(f"{key}[{index}]", cast(dict[str, Any], value)))
        return tuple(found)

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.data:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.error(key, f"is no key of this table (known: {known})")

    def _inner(self, key: str, data: dict[str, Any]) -> "Table":
        return Table(self.file, f"{self.where}.{key}" if self.where else key, data)


def kind_of(value: object) -> str:
    """Name the kind of a TOML value, for a message."""
    names = {"bool": "a boolean", "int": "a whole number", "float": "a number", "str": "a string"}
    names |= {"list": "a list", "dict": "a table"}
    return names.get(type(value).__name__, "a date or time")
