"""What hosts call repositories and accounts: told before anything is made where one would refuse.

The rules are those of the hosts' public documentation; what a host refuses beyond them is one line
when it does.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.course.rosters.forms import Kind as Listed
from grader.course.rosters.people import People, Person
from grader.course.rules.hosts import Kind
from grader.errors import UsageError
from grader.text import visible_line

MOST = 100  # characters of a repository's name; GitLab takes more
ID, ACCOUNT = "{id}", "{account}"
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_GITLAB = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")  # single marks, none at an end
_ENDS = {
    Kind.GITHUB: (".git", ".wiki"),
    Kind.GITLAB: (".git", ".atom"),
    Kind.GITEA: (".git", ".wiki", ".rss", ".atom"),
    Kind.FORGEJO: (".git", ".wiki", ".rss", ".atom"),
}
_GITLAB_WORDS = frozenset(
    "badges blame blob builds commits create create_dir edit files find_file new preview raw refs "
    "tree update wikis".split()
)
_RESERVED = {Kind.GITLAB: _GITLAB_WORDS}
_ACCOUNTS = {
    Kind.GITHUB: re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*(?:_[A-Za-z0-9]+)?"),
    Kind.GITLAB: re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*"),
    Kind.GITEA: re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
    Kind.FORGEJO: re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
}


@dataclass(frozen=True, slots=True)
class Member:
    """A student, their account at the host and the repository that is to be theirs."""

    person: Person
    account: str  # "" where the roster has none
    name: str  # of the repository; "" where it cannot be named yet
    branch: str  # of their work


def members_of(
    kind: Kind, people: People, patterns: tuple[str, str], wanted: str = ""
) -> tuple[Member, ...]:
    """Return the students of a roster; ``patterns`` are of repositories, and of branches.

    ``wanted`` is the column of accounts, if it is said. Raises UsageError without one.
    """
    called, branches = patterns
    check_pattern(called)
    if people.kind is not Listed.PLAIN:
        told = f"{people.kind} is no roster of ours"
        raise UsageError(told, "lab roster import FILE makes one; then add a column of accounts")
    column = account_column(kind, people.others, wanted)
    kept = people.kept or {}
    found: list[Member] = []
    for person in people.persons:
        account = kept.get(person.id, {}).get(column, "").removeprefix("@")
        name = repository_name(called, person.id, account)
        branch = person.branch or branches.replace(ID, person.id)
        found.append(Member(person, account, name, branch))
    return tuple(found)


def check_pattern(pattern: str) -> None:
    """Raise UsageError unless a pattern gives each student a name."""
    if (ID in pattern) == (ACCOUNT in pattern):
        told = f"--name {visible_line(pattern, 60)!r} gives students no names"
        raise UsageError(told, f"such as labs-{ID}, or labs-{ACCOUNT}")


def repository_problem(kind: Kind, name: str) -> str:
    """Return why a host would not take a name, or an empty string."""
    if not name or len(name) > MOST:
        return f"has {len(name)} characters: 1 to {MOST} it may have"
    plain = _GITLAB if kind is Kind.GITLAB else _PLAIN
    if not plain.fullmatch(name):
        more = ", no two of . _ - together and none at an end" if kind is Kind.GITLAB else ""
        return f"may have letters, digits and . _ - alone{more}"
    lower = name.casefold()
    if lower in (".", "..", "-", *_RESERVED.get(kind, ())):
        return "is a word of the host's own"
    ends = [end for end in _ENDS[kind] if lower.endswith(end)]
    return f"must not end with {ends[0]}" if ends else ""


def account_problem(kind: Kind, account: str) -> str:
    """Return why nobody is called so at a host, or an empty string."""
    if len(account) > MOST or not _ACCOUNTS[kind].fullmatch(account):
        return "cannot be an account's name"
    return ""


def problems(kind: Kind, template: str, members: Sequence[Member]) -> list[str]:
    """Return what a host would refuse, or take for the same, by whom it is of."""
    found: list[str] = []
    if told := repository_problem(kind, template):
        found.append(f"the template {visible_line(template, 60)!r} {told}")
    names, accounts = {template.casefold(): "the template"}, dict[str, str]()
    for member in members:
        id, shown = member.person.id, visible_line(member.name, 60)
        if member.account:
            if told := account_problem(kind, member.account):
                found.append(f"{id}: {visible_line(member.account, 60)!r} {told}")
            other = accounts.setdefault(member.account.casefold(), id)
            if other != id:
                found.append(f"{id}: the account {member.account} is that of {other}")
        if not member.name:
            continue
        if told := repository_problem(kind, member.name):
            found.append(f"{id}: the repository {shown!r} {told}")
        other = names.setdefault(member.name.casefold(), id)
        if other != id:
            found.append(f"{id}: the repository {shown!r} is that of {other}")
    return found


def account_column(kind: Kind, columns: Iterable[str], wanted: str) -> str:
    """Return the column of a roster that names accounts; raises UsageError without one."""
    known = list(columns)
    lower = {name.casefold(): name for name in known}
    if wanted and wanted.casefold() not in lower:
        told = f"the roster has no column {visible_line(wanted, 40)}"
        raise UsageError(told, f"its own columns are: {visible_line(', '.join(known)) or 'none'}")
    for name in (wanted,) if wanted else (kind.value, "account"):
        if name.casefold() in lower:
            return lower[name.casefold()]
    told = f"the roster has no column {kind.value}, and none account"
    raise UsageError(told, f"it names each student's account at {kind.value}; or --account COLUMN")


def repository_name(pattern: str, id: str, account: str) -> str:
    """Return what a student's repository is called, "" where that needs an account."""
    if ACCOUNT in pattern and not account:
        return ""
    return pattern.replace(ID, id).replace(ACCOUNT, account)
