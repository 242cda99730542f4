"""GitLab's REST API, version 4: an organisation is a group, and may lie in another one."""

from urllib.parse import quote

from grader.course.hosting.calls import Calls, Clock, Refused, Row
from grader.course.hosting.host import Repository
from grader.course.hosting.token import Token

SCOPES = "the scope api, and the role Owner of the group"
DEVELOPER, MAINTAINER = 30, 40  # who may push to what is not protected, and to what is


class GitLab:
    """One group."""

    title = "GitLab"
    hook_kind = "gitlab"
    git_user = "oauth2"

    def __init__(self, org: str, url: str, token: Token, clock: Clock) -> None:
        headers = {"PRIVATE-TOKEN": token.secret}
        self._group = quote(org, safe="")
        self._number = 0
        self._api = Calls(self.title, f"{url}/api/v4", headers, token, SCOPES, clock)

    def close(self) -> None:
        self._api.client.close()

    def enter(self) -> None:
        self._api.get("/user")
        group = self._api.get(f"/groups/{self._group}?with_projects=false") or {}
        self._number = int(group["id"])

    def repositories(self) -> list[Repository]:
        return [_repository(row) for row in self._api.pages(f"/groups/{self._group}/projects")]

    def make(self, name: str, told: str, *, is_template: bool = False) -> Repository:
        # A template is a project like others here: students' are pushed, not made from it.
        body = {
            "name": name,
            "path": name,
            "description": told,
            "namespace_id": self._number,
            "visibility": "private",
            "initialize_with_readme": False,
        }
        return _repository(self._api.send("POST", "/projects", body))

    def set_default(self, repository: Repository, branch: str) -> None:
        self._api.send("PUT", f"/projects/{repository.key}", {"default_branch": branch})

    def members(self, repository: Repository) -> set[str]:
        rows = self._api.pages(f"/projects/{repository.key}/members/all")
        return {str(row["username"]).casefold() for row in rows}

    def invite(self, repository: Repository, account: str) -> None:
        found = [
            row
            for row in self._api.pages(f"/users?username={quote(account, safe='')}")
            if str(row.get("username", "")).casefold() == account.casefold()
        ]
        if not found:
            raise Refused(f"GitLab has no account {account}", 404, "correct it in the roster")
        body = {"user_id": found[0]["id"], "access_level": DEVELOPER}
        self._api.send("POST", f"/projects/{repository.key}/members", body)

    def is_protected(self, repository: Repository, branch: str) -> bool:
        """Whether a rule, as GitLab itself makes for what is pushed first, keeps students out."""
        rule = self._api.get(_protection(repository, branch), absent=(404,))
        levels = [
            row.get("access_level") or 0 for row in (rule or {}).get("push_access_levels", ())
        ]
        return rule is not None and all(not level or level >= MAINTAINER for level in levels)

    def protect(self, repository: Repository, branch: str) -> None:
        body = {
            "name": branch,
            "push_access_level": MAINTAINER,
            "merge_access_level": MAINTAINER,
            "allow_force_push": False,
        }
        self._api.send("POST", f"/projects/{repository.key}/protected_branches", body)

    def hooks(self, repository: Repository) -> set[str]:
        return {str(row["url"]) for row in self._api.pages(f"/projects/{repository.key}/hooks")}

    def add_hook(self, repository: Repository, address: str, secret: str) -> None:
        body = {
            "url": address,
            "token": secret,
            "push_events": True,
            "enable_ssl_verification": True,
        }
        self._api.send("POST", f"/projects/{repository.key}/hooks", body)


def _protection(repository: Repository, branch: str) -> str:
    return f"/projects/{repository.key}/protected_branches/{quote(branch, safe='')}"


def _repository(row: Row) -> Repository:
    return Repository(
        name=str(row["path"]),
        key=str(row["id"]),
        url=str(row["http_url_to_repo"]),
        default=str(row.get("default_branch") or ""),
        is_private=row.get("visibility") == "private",
    )
