"""Whose export a list of students is: known by its header alone, and said."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.errors import UsageError
from grader.text import visible_line

TEST_STUDENT = "student, test"  # as Canvas calls the one whom teachers view a course as
# What each column is called, in lower case: Moodle's in the languages of its users.
FIRST = ("first name", "firstname", "first_name", "vorname", "prénom", "nombre")
LAST = (
    *("surname", "last name", "lastname", "last_name", "nachname", "nom de famille", "nom"),
    *("apellido(s)", "apellidos"),
)
EMAIL = (
    *("email", "email address", "e-mail", "e-mail address", "e-mail-adresse", "mail"),
    *("adresse de courriel", "dirección de correo", "dirección email"),
)
NUMBER = (
    *("id number", "idnumber", "sis user id", "user_id", "number", "id-nummer"),
    *("numéro d'identification", "número de id"),
)
LOGIN = (
    *("username", "sis login id", "login_id", "login", "anmeldename"),
    *("nom d'utilisateur", "nombre de usuario"),
)
SECTION = ("section", "sections", "groups", "group", "gruppen", "groupes", "grupos")
ROLES = ("roles", "role", "rollen", "rôles")
NAMES = ("name", "full name", "full_name", "student name")
HINT = (
    "known are Canvas (Student, ID, SIS Login ID, …), Moodle (First name, Last name, "
    "ID number, …) and any CSV with the columns id and name"
)


class Kind(StrEnum):
    """Who wrote a list of students."""

    CANVAS = "a Canvas gradebook export"
    USERS = "a Canvas list of users"
    MOODLE = "a Moodle export"
    PLAIN = "a plain CSV roster"


@dataclass(frozen=True, slots=True)
class Form:
    """What a header says: whose it is, and at which place each thing stands."""

    kind: Kind
    places: dict[str, int]  # by what a person has, "first", "last", "roles" and "status"
    width: int

    def cell(self, row: Sequence[str], name: str) -> str:
        """Return a cell of a row, empty where there is none."""
        place = self.places.get(name, len(row))
        return row[place] if place < len(row) else ""


def form_of(file: str, header: Sequence[str]) -> Form:
    """Recognise a header; raises UsageError if it is nobody's, or names a column twice."""
    names = [name.casefold() for name in header]
    kind = _kind(names)
    if kind is None:
        shown = visible_line(", ".join(header), 120) or "nothing"
        raise UsageError(f"{file}, row 1: nobody's list of students begins with {shown}", HINT)
    places: dict[str, int] = {}
    for wanted, called in _columns(kind).items():
        found = [place for place, name in enumerate(names) if name in called]
        if len({names[place] for place in found}) < len(found):
            told = f"two columns are called {visible_line(header[found[0]], 60)}"
            raise UsageError(f"{file}, row 1: {told}", "take one of them out, and import it again")
        if found:
            places[wanted] = min(found, key=lambda place: called.index(names[place]))
    return Form(kind, places, len(header))


def is_nobody(form: Form, row: Sequence[str]) -> bool:
    """Whether a row of an export stands for no student: points, settings, the test student."""
    if form.kind is not Kind.CANVAS:
        return False
    name = form.cell(row, "name").casefold()
    ids = any(form.cell(row, key) for key in ("canvas", "number", "login"))
    return name in ("points possible", TEST_STUDENT) or (not name and not ids)


def _kind(names: Sequence[str]) -> Kind | None:
    if "student" in names and {"sis login id", "sis user id", "section"} & {*names}:
        return Kind.CANVAS
    if "id" in names and ({*NAMES} & {*names} or ({*FIRST} & {*names} and {*LAST} & {*names})):
        return Kind.PLAIN
    if {"user_id", "login_id"} <= {*names}:
        return Kind.USERS
    if {*FIRST} & {*names} and {*LAST} & {*names}:
        return Kind.MOODLE
    return None


def _columns(kind: Kind) -> dict[str, tuple[str, ...]]:
    """Return what each thing may be called in exports of a kind, the likeliest first."""
    shared = {"email": EMAIL, "number": NUMBER, "login": LOGIN, "section": SECTION}
    match kind:
        case Kind.CANVAS:
            return {**shared, "name": ("student",), "canvas": ("id",)}
        case Kind.USERS:
            people = {"first": FIRST, "last": LAST, "name": ("full_name", "short_name")}
            return {**shared, **people, "canvas": ("canvas_user_id",), "status": ("status",)}
        case Kind.MOODLE:
            return {**shared, "first": FIRST, "last": LAST, "roles": ROLES}
        case Kind.PLAIN:
            own = {name: (name,) for name in ("id", "canvas", "lti", "repository", "branch")}
            return {**shared, **own, "name": NAMES, "first": FIRST, "last": LAST}
