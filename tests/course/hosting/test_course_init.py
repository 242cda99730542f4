"""lab course init, at each host's API over loopback: what is made, once, and nothing of others."""

import base64
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')
pytest.importorskip("httpx", reason='needs the extra "service"')

from stand_ins.forge import Forge, Repo, serving
from stand_ins.forges import GiteaForge, GitHubForge, GitLabForge
from stand_ins.instructors import PERSON, append, commit, make_repository

import grader.course.commands.author
import grader.course.commands.classes
from grader.cli.app import main
from grader.course.git import git
from grader.course.hosting.calls import Clock

KINDS: dict[str, type[Forge]] = {
    "github": GitHubForge,
    "gitlab": GitLabForge,
    "gitea": GiteaForge,
    "forgejo": GiteaForge,
}
ROSTER = "id,name,account,note\ns17,Ada Lovelace,ada-l,first row\ns18,Alan Turing,Turing,\n"
COURSE = """\
title = "Inference"
roster = "roster.csv"
[service]
address = "https://labs.example.org"
[service.hooks]
github = "0123456789abcdef-g"
gitlab = "0123456789abcdef-l"
gitea = "0123456789abcdef-t"
"""


class Home:
    """A course's folder with its repository, and the host it is to live at."""

    def __init__(self, kind: str, forge: Forge, folder: Path) -> None:
        self.kind, self.forge, self.folder = kind, forge, folder
        self.token = forge.account("teacher")
        for name in ("ada-l", "turing"):
            forge.account(name)
        self.roster = folder / "roster.csv"
        self.roster.write_text(ROSTER)
        (folder / "course.toml").write_text(COURSE)
        self.file = folder / "token"
        self.file.write_text(self.token + "\n")
        self.file.chmod(0o600)

    def init(self, *more: str) -> int:
        line = ["course", "init", *more, "--on", self.kind, "--org", "course"]
        return main([*line, "--url", self.forge.address, "--token-file", str(self.file)])

    def state(self) -> dict[str, Any]:
        """All that the host keeps."""
        return {
            repo.name: (
                git("for-each-ref", folder=repo.folder),
                *(repo.private, repo.default, repo.members, repo.invited, repo.rules, repo.hooks),
            )
            for repo in self.forge.repos.values()
        }

    def url(self, login: str, name: str) -> str:
        """An address by which git signs in as somebody."""
        host = self.forge.address.replace("://", f"://{login}:{self.forge.accounts[login]}@")
        return f"{host}/course/{name}.git"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_repository(tmp_path / "instructors")
    for module in (grader.course.commands.author, grader.course.commands.classes):
        monkeypatch.setattr(module, "find_root", lambda: made)
    return made


@pytest.fixture(params=KINDS)
def home(
    request: pytest.FixtureRequest, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Home]:
    monkeypatch.delenv("INFERLAB_HOST_TOKEN", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with serving(KINDS[request.param](tmp_path / "host")) as forge:
        yield Home(request.param, forge, tmp_path / "here")


each_api = pytest.mark.parametrize("home", ["github", "gitlab", "gitea"], indirect=True)
one_host = pytest.mark.parametrize("home", ["github"], indirect=True)
Told = Callable[[], tuple[str, str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def read() -> tuple[str, str]:
        found = capsys.readouterr()
        return found.out, found.err

    return read


def test_each_student_has_a_private_repository_that_begins_as_the_course(
    home: Home, told: Told
) -> None:
    assert home.init("90", "--unproven") == 0

    repos = home.forge.repos
    assert repos.keys() == {"labs", "labs-s17", "labs-s18"}
    assert all(repo.private for repo in repos.values())
    template = git("rev-parse", "main", folder=repos["labs"].folder)
    assert git("tag", folder=repos["labs"].folder) == "published/main/1"
    for id, account in (("s17", "ada-l"), ("s18", "turing")):
        repo = repos[f"labs-{id}"]
        assert repo.branches() == ["main", f"student/{id}"]
        assert git("rev-parse", "main", f"student/{id}", folder=repo.folder).split() == [
            *(template, template)
        ]
        assert repo.default == f"student/{id}"
        assert {*repo.members, *repo.invited} == {account}
        assert repo.rules.keys() == {"main"}
        assert len(repo.hooks) == 1
    out, _ = told()
    assert "s17 labs-s17: made labs-s17, pushed main and student/s17" in out
    assert out.endswith("2 students: 2 changed, 0 as before, 0 with an error\n")
    host = home.forge.address
    assert home.roster.read_text().splitlines() == [
        "id,name,email,repository,branch,account,note",
        f"s17,Ada Lovelace,,{host}/course/labs-s17.git,student/s17,ada-l,first row",
        f"s18,Alan Turing,,{host}/course/labs-s18.git,student/s18,Turing,",
    ]


def test_again_nothing_is_missing_and_nothing_is_written(home: Home, told: Told) -> None:
    assert home.init("90", "--unproven") == 0
    before, roster = home.state(), home.roster.read_bytes()
    home.forge.log.clear(), home.forge.pushes.clear()
    told()

    assert home.init("90", "--unproven") == 0

    assert (home.forge.writes(), home.forge.pushes) == ([], [])
    assert (home.state(), home.roster.read_bytes()) == (before, roster)
    assert "s17 labs-s17: nothing is missing" in told()[0]


def test_a_dry_run_writes_nothing_and_says_what_would_be(home: Home, told: Told) -> None:
    assert home.init("90", "--dry-run") == 0

    assert (home.forge.writes(), home.forge.pushes, home.state()) == ([], [], {})
    assert home.roster.read_text() == ROSTER
    out, _ = told()
    assert "template course/labs: would be made course/labs, pushed main" in out
    assert "s18 labs-s18: would be made labs-s18, pushed main and student/s18, protected" in out
    assert "invited Turing" in out


@one_host
def test_killed_after_each_write_the_next_run_goes_on(home: Home) -> None:
    """The host is cut off after one write of each run, until there is nothing to write."""
    codes: list[int] = []
    while not codes or codes[-1]:
        labs = ["90", "--unproven"] if not home.forge.pushes else []
        home.forge.dies_after = 1
        codes.append(home.init(*labs))
        assert len(codes) < 40

    whole = _kept(home.state())
    home.forge.dies_after = None
    subprocess.run(["rm", "-r", home.forge.folder], check=True)
    home.forge.repos.clear()
    home.roster.write_text(ROSTER)
    assert home.init("90", "--unproven") == 0
    assert _kept(home.state()) == whole


def _kept(state: dict[str, Any]) -> dict[str, Any]:
    """What a host keeps, without the commits: these differ by their second."""
    return {
        name: ([line.split("\t")[1] for line in refs.splitlines()], *rest)
        for name, (refs, *rest) in state.items()
    }


def test_a_student_clones_works_and_pushes_and_the_work_is_collected(
    home: Home, root: Path, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.init("90", "--unproven") == 0
    if isinstance(home.forge, GitHubForge):
        home.forge.accept("labs-s17", "ada-l")
    clone = tmp_path / "clone"
    run = _shell(tmp_path)
    assert run("git", "clone", "-q", home.url("ada-l", "labs-s17"), str(clone)) == 0
    answer = (root / "solutions/90_echo/echo.py").read_text()
    (clone / "labs/90_echo/echo.py").write_text(answer)
    assert run("git", "-C", str(clone), "commit", "-qam", "Solve it") == 0
    assert run("git", "-C", str(clone), "push", "-q") == 0
    # Not hers: the course's branch, and anything of another student's.
    assert run("git", "-C", str(clone), "push", "-q", "origin", "HEAD:main") != 0
    assert run("git", "ls-remote", home.url("ada-l", "labs-s18")) != 0
    told()

    port = home.forge.address.rpartition(":")[2]
    netrc = tmp_path / "home" / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login course password {home.token}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(netrc.parent))
    assert main(["collect", "90"]) == 1  # for one has done nothing

    out, _ = told()
    assert "missing s18 (Alan Turing): only the untouched stub is there" in out
    [file] = (home.folder / "collected" / "90_echo" / "s17").glob("*/echo.py")
    assert file.read_text() == answer
    assert port


@one_host
def test_work_is_never_touched_and_the_courses_branch_goes_on(
    home: Home, root: Path, told: Told
) -> None:
    assert home.init("90", "--unproven") == 0
    repo = home.forge.repos["labs-s17"]
    work = _commit_on(repo.folder, "student/s17", "mine")
    append(root, "labs/90_echo/README.md", "\nOne word more.\n")
    commit(root, "Say more")
    told()

    assert home.init("90", "--unproven") == 0

    assert git("rev-parse", "student/s17", folder=repo.folder) == work
    assert "One word more." in git("show", "main:labs/90_echo/README.md", folder=repo.folder)
    assert "s17 labs-s17: pushed main\n" in told()[0]


@one_host
@pytest.mark.parametrize("branch", ["main", "work"])
def test_a_repository_of_the_name_that_is_somebody_elses_is_left_alone(
    home: Home, told: Told, branch: str
) -> None:
    foreign = home.forge.add("labs-s17")
    kept = _commit_on(foreign.folder, branch, "theirs")

    assert home.init("90", "--unproven") == 1

    assert git("for-each-ref", "--format=%(objectname)", folder=foreign.folder) == kept
    assert (foreign.members, foreign.invited, foreign.hooks) == ({}, set(), [])
    out, err = told()
    assert "labs-s17 has" in err
    assert "it is left alone" in err
    assert out.endswith("2 students: 1 changed, 1 as before, 1 with an error\n")
    assert "labs-s18.git" in home.roster.read_text()
    assert "labs-s17.git" not in home.roster.read_text()


@each_api
def test_an_account_that_nobody_has_costs_its_student_alone(home: Home, told: Told) -> None:
    home.roster.write_text(ROSTER.replace("Turing,\n", "nobody-at-all,\ns19,Grace,,\n"))

    assert home.init("90", "--unproven") == 1

    out, err = told()
    assert "nobody-at-all" in err
    assert "the roster names no account: nobody is invited" in err
    assert home.forge.repos.keys() == {"labs", "labs-s17", "labs-s18", "labs-s19"}
    assert "3 students: 3 changed, 0 as before, 2 with an error" in out
    # What was missing comes with the next run.
    home.roster.write_text(home.roster.read_text().replace("nobody-at-all", "turing"))
    assert home.init("90", "--unproven") == 1
    assert "s18 labs-s18: invited turing\n" in told()[0]


@each_api
def test_more_repositories_than_fit_a_page_are_all_known(home: Home, told: Told) -> None:
    folder = home.forge.add("other").folder
    for number in range(120):
        home.forge.repos[f"other-{number}"] = Repo(f"other-{number}", 900 + number, folder)
    assert home.init("90", "--unproven") == 0
    told()

    assert home.init() == 0

    assert "2 students: 0 changed, 2 as before" in told()[0]


@one_host
def test_a_token_stands_in_no_line_and_on_no_command_line(
    home: Home, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    run = subprocess.Popen

    class Watched(run):  # type: ignore[type-arg, valid-type, misc]
        def __init__(self, args: Any, *more: Any, **options: Any) -> None:
            lines.append(" ".join(map(str, args)))
            super().__init__(args, *more, **options)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    home.forge.first.append((422, {}, {"message": f"no {home.token} here"}))
    home.init("90", "--unproven")
    assert home.init("90", "--unproven") == 0

    out, err = told()
    proofs = [home.token] + [
        base64.b64encode(f"{user}:{home.token}".encode()).decode()
        for user in ("x-access-token", "oauth2", "inferlab")
    ]
    assert any("push" in line for line in lines)
    for proof in proofs:
        assert proof not in out + err + "\n".join(lines)
    assert "[token]" in err


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"message": "Bad credentials"}, "does not know the token"),
        (403, {"message": "Forbidden for you"}, "Forbidden for you"),
        (404, {"message": "Not Found"}, "has nothing at GET /"),
        (409, {"message": "Busy"}, "refuses GET /"),
        (422, {"message": "Bad", "errors": [{"message": "field x"}]}, "Bad; field x"),
        (301, None, "has moved GET /"),
        (500, None, "failed with 500"),
    ],
)
@one_host
def test_each_refusal_is_one_line(
    home: Home, told: Told, status: int, body: Any, said: str
) -> None:
    home.forge.first.append((status, {}, body))

    assert home.init("90", "--unproven") in (2, 3)

    err = told()[1]
    assert said in err
    assert err.count("\n") <= 2
    assert "Traceback" not in err
    assert home.state() == {}


@one_host
def test_waits_are_kept_and_told(home: Home, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(Clock.__init__, "__defaults__", (slept.append, lambda: 1000.0))
    home.forge.first += [
        (429, {"Retry-After": "7"}, {"message": "Too many"}),
        (403, {"Retry-After": "3"}, {"message": "You have exceeded a secondary rate limit."}),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1042"}, {"message": "limit"}),
        (429, {}, {"message": "Too many"}),
    ]

    assert home.init("90", "--unproven") == 0

    assert slept == [7, 3, 42, 60]
    assert "asks to wait: going on in 42 s" in told()[1]


@one_host
def test_a_wait_without_end_ends_the_run(
    home: Home, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Clock.__init__, "__defaults__", (lambda _: None, lambda: 0.0))
    home.forge.first.append((429, {"Retry-After": "90000"}, None))
    assert home.init("90", "--unproven") == 3
    assert "wants 25.0 hours to pass" in told()[1]

    home.forge.first += [(429, {"Retry-After": "1"}, None)] * 9
    assert home.init("90", "--unproven") == 3
    assert "failed with 429" in told()[1]


def _commit_on(folder: Path, branch: str, text: str) -> str:
    stream = (
        f"commit refs/heads/{branch}\ncommitter S <s@x> 1700000000 +0000\ndata 4\nwork\n"
        f"M 644 inline file\ndata {len(text)}\n{text}\n"
    )
    tip = git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}", folder=folder)
    if tip:
        stream = stream.replace("M 644", f"from {tip}\nM 644")
    git("fast-import", "--quiet", folder=folder, stdin=stream.encode())
    return git("rev-parse", f"refs/heads/{branch}", folder=folder)


def _shell(folder: Path) -> Callable[..., int]:
    """A student's own machine, with git as it comes."""
    (folder / "home").mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **PERSON}
    env["GIT_TERMINAL_PROMPT"] = "0"
    return lambda *line: subprocess.run(line, env=env, capture_output=True).returncode
