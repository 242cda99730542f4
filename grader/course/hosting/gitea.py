"""The API of Gitea, version 1, which Forgejo has too."""

from urllib.parse import quote

from grader.course.hosting.calls import Calls, Clock, Row
from grader.course.hosting.host import Repository
from grader.course.hosting.token import Token

SCOPES = "write:repository, write:organization and read:user"


class Gitea:
    """One organisation, at Gitea or at Forgejo."""

    hook_kind = "gitea"
    git_user = "inferlab"  # the token alone says who it is

    def __init__(self, title: str, org: str, url: str, token: Token, clock: Clock) -> None:
        headers = {"Authorization": f"token {token.secret}"}
        self.title = title
        self._org = quote(org, safe="")
        self._me = ""
        self._api = Calls(title, f"{url}/api/v1", headers, token, SCOPES, clock)

    def close(self) -> None:
        self._api.client.close()

    def enter(self) -> None:
        me = self._api.get("/user") or {}
        self._me = str(me.get("login", ""))
        self._api.get(f"/orgs/{self._org}")

    def repositories(self) -> list[Repository]:
        return [_repository(row) for row in self._api.pages(f"/orgs/{self._org}/repos")]

    def make(self, name: str, told: str, *, is_template: bool = False) -> Repository:
        body = {
            "name": name,
            "description": told,
            "private": True,
            "auto_init": False,
            "template": is_template,
        }
        return _repository(self._api.send("POST", f"/orgs/{self._org}/repos", body))

    def set_default(self, repository: Repository, branch: str) -> None:
        self._api.send("PATCH", f"/repos/{repository.key}", {"default_branch": branch})

    def members(self, repository: Repository) -> set[str]:
        rows = self._api.pages(f"/repos/{repository.key}/collaborators")
        return {str(row["login"]).casefold() for row in rows}

    def invite(self, repository: Repository, account: str) -> None:
        path = f"/repos/{repository.key}/collaborators/{quote(account, safe='')}"
        self._api.send("PUT", path, {"permission": "write"})

    def is_protected(self, repository: Repository, branch: str) -> bool:
        path = f"/repos/{repository.key}/branch_protections/{quote(branch, safe='')}"
        return self._api.get(path, absent=(404,)) is not None

    def protect(self, repository: Repository, branch: str) -> None:
        # Here a rule holds for administrators too: the course itself is the list.
        body = {
            "rule_name": branch,
            "branch_name": branch,  # as versions before 1.20 call it
            "enable_push": True,
            "enable_push_whitelist": True,
            "push_whitelist_usernames": [self._me],
        }
        self._api.send("POST", f"/repos/{repository.key}/branch_protections", body)

    def hooks(self, repository: Repository) -> set[str]:
        rows = self._api.pages(f"/repos/{repository.key}/hooks")
        return {str((row.get("config") or {}).get("url", "")) for row in rows}

    def add_hook(self, repository: Repository, address: str, secret: str) -> None:
        config = {"url": address, "content_type": "json", "secret": secret}
        body = {"type": "gitea", "active": True, "events": ["push"], "config": config}
        self._api.send("POST", f"/repos/{repository.key}/hooks", body)


def _repository(row: Row) -> Repository:
    return Repository(
        name=str(row["name"]),
        key=str(row["full_name"]),
        url=str(row["clone_url"]),
        default=str(row.get("default_branch") or ""),
        is_private=bool(row.get("private")),
    )
