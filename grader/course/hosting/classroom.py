"""A template and a repository for each student: only what is missing is made, in an order in which
a kill at any moment leaves nothing that the next run does not go on with.

Of a student's repository two branches are the course's to begin: its own, which only ever goes
forward, and the student's, which is begun once and then never touched. A repository of the name
whose course branch holds anything else is somebody's work, and is left alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from grader.course.hosting.calls import Refused
from grader.course.hosting.host import Host, Repository
from grader.course.hosting.mirror import Mirror
from grader.course.hosting.names import Member
from grader.text import visible_line

PAID = "upgrade to"  # how GitHub begins to say that a plan has no protected private branches


@dataclass(frozen=True, slots=True)
class Hook:
    """Where the grading service is told of pushes."""

    address: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """What became of one student."""

    member: Member
    url: str  # of the repository; "" where there is none of ours
    did: tuple[str, ...]
    notes: tuple[str, ...] = ()
    problem: str = ""  # why not all of it is there


@dataclass(slots=True)
class Classroom:
    """An organisation that becomes a course's; with ``is_dry`` nothing is asked to change."""

    host: Host
    mirror: Mirror
    branch: str  # of the course
    title: str
    hook: Hook | None
    is_dry: bool
    known: dict[str, Repository] = field(default_factory=dict[str, Repository])
    unprotected: str = ""  # why no branch can be protected here

    def look(self) -> None:
        """Ask which repositories there are."""
        self.host.enter()
        self.known = {item.name.casefold(): item for item in self.host.repositories()}

    def template(self, name: str) -> Repository | None:
        """Return the template; None where it is not there."""
        return self.known.get(name.casefold())

    def make_template(self, name: str) -> Repository:
        """Make the template, empty."""
        told = f"{visible_line(self.title, 200)}: what students begin with"
        made = self.host.make(name, told, is_template=True)
        self.known[name.casefold()] = made
        return made

    def place(self, member: Member) -> Place:
        """Complete what is a student's."""
        did: list[str] = []
        notes: list[str] = []
        try:
            url, problem = self._complete(member, did, notes)
        except Refused as error:
            there = self.known.get(member.name.casefold())
            return Place(member, there.url if there else "", tuple(did), tuple(notes), error.line)
        return Place(member, url, tuple(did), tuple(notes), problem)

    def _complete(self, member: Member, did: list[str], notes: list[str]) -> tuple[str, str]:
        """Do what is missing; return the repository's URL, and why not all of it could be done."""
        repository = self.known.get(member.name.casefold())
        there = self.mirror.branches(repository.url) if repository else {}
        if told := self._foreign(there):
            return "", f"{member.name} {told}: it is left alone"
        if repository and not repository.is_private:
            notes.append(f"{member.name} is public: others read this student's work")
        if repository is None:
            repository = self._make(member, did)
        missing = [
            name
            for name in dict.fromkeys((self.branch, member.branch))
            if name not in there or (name == self.branch and there[name] != self._tip())
        ]
        if missing:
            self._do(did, f"pushed {' and '.join(missing)}", self._push(repository, missing))
        if repository is None:  # a dry run: of what is not there nothing more can be asked
            self._do(did, self._rest(member), None)
            return "", "" if member.account else "the roster names no account: nobody is invited"
        if repository.default != member.branch:
            self._start(repository, member, did)
        self._protect(repository, did)
        self._call(repository, did)
        if not member.account:
            return repository.url, "the roster names no account: nobody is invited"
        if member.account.casefold() not in self.host.members(repository):
            invite = self.host.invite
            self._do(did, f"invited {member.account}", lambda: invite(repository, member.account))
        return repository.url, ""

    def _foreign(self, there: dict[str, str]) -> str:
        """Say why a repository is none that this course began, or return an empty string."""
        if not there:
            return ""
        commit = there.get(self.branch, "")
        if not commit:
            return f"has branches, and no {self.branch}"
        if not self.mirror.contains(commit, self.branch):
            return f"has something else on {self.branch} than the course"
        return ""

    def _make(self, member: Member, did: list[str]) -> Repository | None:
        told = f"{visible_line(self.title, 200)}: {member.person.id}"
        made = None if self.is_dry else self.host.make(member.name, told)
        if made:
            self.known[member.name.casefold()] = made
        did.append(f"made {member.name}")
        return made

    def _push(
        self, repository: Repository | None, names: Sequence[str]
    ) -> Callable[[], None] | None:
        if repository is None:
            return None
        return lambda: self.mirror.push(repository.url, self.branch, list(names))

    def _tip(self) -> str:
        return self.mirror.tip(self.branch)

    def _start(self, repository: Repository, member: Member, did: list[str]) -> None:
        """Let a clone begin on the student's own branch, unless somebody chose another."""
        if repository.default not in ("", self.branch, "main", "master"):
            return
        start = self.host.set_default
        told = f"set {member.branch} as what a clone begins with"
        self._do(did, told, lambda: start(repository, member.branch))
        self.known[member.name.casefold()] = replace(repository, default=member.branch)

    def _protect(self, repository: Repository, did: list[str]) -> None:
        if self.unprotected:
            return
        try:
            if not self.host.is_protected(repository, self.branch):
                protect = self.host.protect
                self._do(did, f"protected {self.branch}", lambda: protect(repository, self.branch))
        except Refused as error:
            if error.status != 403 or PAID not in error.message.casefold():
                raise
            self.unprotected = error.message

    def _call(self, repository: Repository, did: list[str]) -> None:
        hook = self.hook
        if hook and hook.address not in self.host.hooks(repository):
            add = self.host.add_hook
            self._do(did, "added the hook", lambda: add(repository, hook.address, hook.secret))

    def _rest(self, member: Member) -> str:
        parts = [f"protected {self.branch}", "added the hook" if self.hook else ""]
        parts.append(f"invited {member.account}" if member.account else "")
        return ", ".join(filter(None, parts))

    def _do(self, did: list[str], told: str, step: Callable[[], None] | None) -> None:
        """Take one step, and say so once it is taken."""
        if step and not self.is_dry:
            step()
        did.append(told)
