"""GitHub's REST API, version 2022-11-28: github.com, and GitHub Enterprise Server."""

from urllib.parse import quote, urlsplit

from grader.course.hosting.calls import Calls, Clock, Row
from grader.course.hosting.host import Repository
from grader.course.hosting.token import Token

SCOPES = (
    "repo, workflow and admin:org (classic), or of the organisation: Administration, Contents, "
    "Webhooks and Workflows, to read and write (fine-grained)"
)


class GitHub:
    """One organisation."""

    title = "GitHub"
    hook_kind = "github"
    git_user = "x-access-token"

    def __init__(self, org: str, url: str, token: Token, clock: Clock) -> None:
        is_public = urlsplit(url).hostname == "github.com"
        base = "https://api.github.com" if is_public else f"{url}/api/v3"
        headers = {
            "Authorization": f"Bearer {token.secret}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self._org = quote(org, safe="")
        self._api = Calls(self.title, base, headers, token, SCOPES, clock)

    def close(self) -> None:
        self._api.client.close()

    def enter(self) -> None:
        self._api.get("/user")
        self._api.get(f"/orgs/{self._org}")

    def repositories(self) -> list[Repository]:
        return [_repository(row) for row in self._api.pages(f"/orgs/{self._org}/repos")]

    def make(self, name: str, told: str, *, is_template: bool = False) -> Repository:
        body = {
            "name": name,
            "description": told,
            "private": True,
            "auto_init": False,
            "has_wiki": False,
            "has_projects": False,
            "is_template": is_template,
        }
        return _repository(self._api.send("POST", f"/orgs/{self._org}/repos", body))

    def set_default(self, repository: Repository, branch: str) -> None:
        self._api.send("PATCH", f"/repos/{repository.key}", {"default_branch": branch})

    def members(self, repository: Repository) -> set[str]:
        start = f"/repos/{repository.key}"
        there = {str(row["login"]) for row in self._api.pages(f"{start}/collaborators")}
        for row in self._api.pages(f"{start}/invitations"):
            there.add(str((row.get("invitee") or {}).get("login", "")))
        return {name.casefold() for name in there}

    def invite(self, repository: Repository, account: str) -> None:
        path = f"/repos/{repository.key}/collaborators/{quote(account, safe='')}"
        self._api.send("PUT", path, {"permission": "push"})

    def is_protected(self, repository: Repository, branch: str) -> bool:
        return self._api.get(_protection(repository, branch), absent=(404,)) is not None

    def protect(self, repository: Repository, branch: str) -> None:
        # Those whom no list names may not push; administrators, as the course is one, still may.
        body = {
            "required_status_checks": None,
            "enforce_admins": False,
            "required_pull_request_reviews": None,
            "restrictions": {"users": [], "teams": [], "apps": []},
            "allow_force_pushes": False,
            "allow_deletions": False,
        }
        self._api.send("PUT", _protection(repository, branch), body)

    def hooks(self, repository: Repository) -> set[str]:
        rows = self._api.pages(f"/repos/{repository.key}/hooks")
        return {str((row.get("config") or {}).get("url", "")) for row in rows}

    def add_hook(self, repository: Repository, address: str, secret: str) -> None:
        config = {"url": address, "content_type": "json", "secret": secret, "insecure_ssl": "0"}
        body = {"name": "web", "active": True, "events": ["push"], "config": config}
        self._api.send("POST", f"/repos/{repository.key}/hooks", body)


def _protection(repository: Repository, branch: str) -> str:
    return f"/repos/{repository.key}/branches/{quote(branch, safe='')}/protection"


def _repository(row: Row) -> Repository:
    return Repository(
        name=str(row["name"]),
        key=str(row["full_name"]),
        url=str(row["clone_url"]),
        default=str(row.get("default_branch") or ""),
        is_private=bool(row.get("private")),
    )
