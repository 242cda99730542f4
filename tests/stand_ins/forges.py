"""The APIs of GitHub, GitLab, Gitea and Forgejo, as far as a course's home needs them.

After docs.github.com/rest (2022-11-28): orgs, repos, repos/collaborators, repos/invitations,
repos/webhooks, branches/branch-protection, users; docs.gitlab.com/api: groups, projects,
project_members, protected_branches, project_webhooks, users; docs.gitea.com/api (Swagger of
version 1, which Forgejo serves too): organization, repository, user.
"""

from typing import Any

from stand_ins.forge import Answer, Forge, Repo

MISSING: Answer = (404, {"message": "Not Found"})
Body = dict[str, Any]


class Requests(Forge):
    """What GitHub and Gitea have alike of pull requests: those that are open, and comments."""

    def request(self, name: str, branch: str) -> list[Body]:
        """Open a pull request for a branch; returns its comments."""
        comments: list[Body] = []
        number = 5
        repo = f"/repos/{self.org}/{name}"
        pull = {"number": number, "head": {"ref": branch}}
        self.routes += [
            ("GET", f"{repo}/pulls", lambda **_: (200, [pull])),
            ("GET", f"{repo}/issues/{number}/comments", lambda **_: (200, list(comments))),
            ("POST", f"{repo}/issues/{number}/comments", lambda body, **_: _added(comments, body)),
            (
                "PATCH",
                rf"{repo}/issues/comments/(\d+)",
                lambda id, body, **_: _edited(comments, id, body),
            ),
        ]
        return comments


class GitHubForge(Requests):
    """GitHub, by the paths of an Enterprise Server; ``is_free``: a plan without protection."""

    api = "/api/v3"
    is_free = False

    def __post_init__(self) -> None:
        start = f"/orgs/({self.org})"
        repo = f"/repos/{self.org}/([^/]+)"
        self.routes = [
            ("GET", "/user", lambda login, **_: (200, {"login": login})),
            ("GET", start, lambda org, **_: (200, {"login": org})),
            ("GET", f"{start}/repos", lambda org, **_: (200, self._all())),
            ("POST", f"{start}/repos", lambda org, body, **_: self._make(body)),
            ("PATCH", repo, self._change),
            ("GET", f"{repo}/collaborators", self._members),
            ("PUT", f"{repo}/collaborators/([^/]+)", self._invite),
            ("GET", f"{repo}/invitations", self._invitations),
            ("GET", f"{repo}/branches/([^/]+)/protection", self._rule),
            ("PUT", f"{repo}/branches/([^/]+)/protection", self._protect),
            ("GET", f"{repo}/hooks", lambda name, **_: (200, self.repos[name.casefold()].hooks)),
            ("POST", f"{repo}/hooks", self._hook),
        ]

    def who(self, headers: Any) -> str | None:
        kind, _, token = headers.get("Authorization", "").partition(" ")
        return _login(self, token) if kind in ("Bearer", "token") else None

    def _all(self) -> list[Body]:
        return [self._told(repo) for repo in self.repos.values()]

    def _told(self, repo: Repo) -> Body:
        return {
            "id": repo.number,
            "name": repo.name,
            "full_name": f"{self.org}/{repo.name}",
            "private": repo.private,
            "clone_url": self.url(repo),
            "default_branch": repo.default,
            "is_template": repo.template,
        }

    def _make(self, body: Body) -> Answer:
        if body["name"].casefold() in self.repos:
            said = {"field": "name", "message": "name already exists on this account"}
            return 422, {"message": "Repository creation failed.", "errors": [said]}
        more = {"private": body["private"], "template": body.get("is_template", False)}
        return 201, self._told(self.add(body["name"], told=body["description"], **more))

    def _change(self, name: str, body: Body, **_: Any) -> Answer:
        repo = self.repos[name.casefold()]
        if body["default_branch"] not in repo.branches():
            return 422, {"message": "Validation Failed"}
        repo.default = body["default_branch"]
        _head(repo)
        return 200, self._told(repo)

    def _members(self, name: str, **_: Any) -> Answer:
        names = ["teacher", *self.repos[name.casefold()].members]
        return 200, [{"login": login} for login in names]

    def _invite(self, name: str, account: str, body: Body, **_: Any) -> Answer:
        repo, there = self.repos[name.casefold()], _known(self, account)
        if not there:
            return MISSING
        if there in repo.members:
            return 204, None
        assert body == {"permission": "push"}
        repo.invited.add(there)
        return 201, {"invitee": {"login": there}, "permissions": "write"}

    def _invitations(self, name: str, **_: Any) -> Answer:
        names = sorted(self.repos[name.casefold()].invited)
        return 200, [{"invitee": {"login": login}} for login in names]

    def accept(self, name: str, account: str) -> None:
        """What a student does with an invitation."""
        self.repos[name].invited.remove(account)
        self.repos[name].members[account] = "push"

    def _rule(self, name: str, branch: str, **_: Any) -> Answer:
        if self.is_free:
            return self._upgrade()
        rule = self.repos[name.casefold()].rules.get(branch)
        return (200, rule) if rule else (404, {"message": "Branch not protected"})

    def _protect(self, name: str, branch: str, body: Body, **_: Any) -> Answer:
        repo = self.repos[name.casefold()]
        needed = {"required_status_checks", "enforce_admins", "required_pull_request_reviews"}
        if self.is_free:
            return self._upgrade()
        if branch not in repo.branches():
            return 404, {"message": "Branch not found"}
        if not needed | {"restrictions"} <= body.keys():
            return 422, {"message": "Invalid request."}
        repo.rules[branch] = body
        repo.allow(branch, [*body["restrictions"]["users"], "teacher"])
        return 200, body

    def _upgrade(self) -> Answer:
        told = "Upgrade to GitHub Pro or make this repository public to enable this feature."
        return 403, {"message": told}

    def _hook(self, name: str, body: Body, **_: Any) -> Answer:
        hooks = self.repos[name.casefold()].hooks
        if any(hook["config"]["url"] == body["config"]["url"] for hook in hooks):
            said = {"message": "Hook already exists on this repository"}
            return 422, {"message": "Validation Failed", "errors": [said]}
        hooks.append(body)
        return 201, body


class GiteaForge(Requests):
    """Gitea or Forgejo."""

    api = "/api/v1"
    page_name = "limit"

    def __post_init__(self) -> None:
        start = f"/orgs/({self.org})"
        repo = f"/repos/{self.org}/([^/]+)"
        self.routes = [
            ("GET", "/user", lambda login, **_: (200, {"login": login})),
            ("GET", start, lambda org, **_: (200, {"username": org})),
            ("GET", f"{start}/repos", lambda org, **_: (200, self._all())),
            ("POST", f"{start}/repos", lambda org, body, **_: self._make(body)),
            ("PATCH", repo, self._change),
            ("GET", f"{repo}/collaborators", self._members),
            ("PUT", f"{repo}/collaborators/([^/]+)", self._invite),
            ("GET", f"{repo}/branch_protections/([^/]+)", self._rule),
            ("POST", f"{repo}/branch_protections", self._protect),
            ("GET", f"{repo}/hooks", lambda name, **_: (200, self.repos[name.casefold()].hooks)),
            ("POST", f"{repo}/hooks", self._hook),
        ]

    def who(self, headers: Any) -> str | None:
        kind, _, token = headers.get("Authorization", "").partition(" ")
        return _login(self, token) if kind == "token" else None

    def _all(self) -> list[Body]:
        return [self._told(repo) for repo in self.repos.values()]

    def _told(self, repo: Repo) -> Body:
        return {
            "id": repo.number,
            "name": repo.name,
            "full_name": f"{self.org}/{repo.name}",
            "private": repo.private,
            "clone_url": self.url(repo),
            "default_branch": repo.default,
            "template": repo.template,
        }

    def _make(self, body: Body) -> Answer:
        if body["name"].casefold() in self.repos:
            return 409, {"message": "The repository with the same name already exists."}
        more = {"private": body["private"], "template": body.get("template", False)}
        return 201, self._told(self.add(body["name"], told=body["description"], **more))

    def _change(self, name: str, body: Body, **_: Any) -> Answer:
        repo = self.repos[name.casefold()]
        if body["default_branch"] not in repo.branches():
            return 404, {"message": "branch does not exist"}
        repo.default = body["default_branch"]
        _head(repo)
        return 200, self._told(repo)

    def _members(self, name: str, **_: Any) -> Answer:
        return 200, [{"login": login} for login in self.repos[name.casefold()].members]

    def _invite(self, name: str, account: str, body: Body, **_: Any) -> Answer:
        there = _known(self, account)
        if not there:
            return 404, {"message": f"user does not exist [name: {account}]"}
        assert body == {"permission": "write"}
        self.repos[name.casefold()].members[there] = "write"
        return 204, None

    def _rule(self, name: str, branch: str, **_: Any) -> Answer:
        rule = self.repos[name.casefold()].rules.get(branch)
        return (200, rule) if rule else MISSING

    def _protect(self, name: str, body: Body, **_: Any) -> Answer:
        repo = self.repos[name.casefold()]
        if body["rule_name"] in repo.rules:
            return 403, {"message": "Branch protection already exist"}
        assert body["enable_push"]
        assert body["enable_push_whitelist"]
        repo.rules[body["rule_name"]] = body
        repo.allow(body["rule_name"], body["push_whitelist_usernames"])
        return 201, body

    def _hook(self, name: str, body: Body, **_: Any) -> Answer:
        if body["type"] not in ("gitea", "forgejo"):
            return 422, {"message": "Invalid hook type"}
        self.repos[name.casefold()].hooks.append(body)
        return 201, body


class GitLabForge(Forge):
    """GitLab: projects by number, members by the number of their account."""

    api = "/api/v4"

    def __post_init__(self) -> None:
        project = r"/projects/(\d+)"
        self.routes = [
            ("GET", "/user", lambda login, **_: (200, {"username": login})),
            ("GET", f"/groups/({self.org})", lambda org, **_: (200, {"id": 7, "path": org})),
            ("GET", f"/groups/({self.org})/projects", lambda org, **_: (200, self._all())),
            ("GET", "/users", self._users),
            ("POST", "/projects", lambda body, **_: self._make(body)),
            ("PUT", project, self._change),
            ("GET", f"{project}/members/all", self._members),
            ("POST", f"{project}/members", self._invite),
            ("GET", f"{project}/protected_branches/([^/]+)", self._rule),
            ("POST", f"{project}/protected_branches", self._protect),
            ("GET", f"{project}/hooks", lambda number, **_: (200, self._of(number).hooks)),
            ("POST", f"{project}/hooks", self._hook),
        ]

    def who(self, headers: Any) -> str | None:
        return _login(self, headers.get("PRIVATE-TOKEN", ""))

    def _of(self, number: str) -> Repo:
        return next(repo for repo in self.repos.values() if repo.number == int(number))

    def _all(self) -> list[Body]:
        return [self._told(repo) for repo in self.repos.values()]

    def _told(self, repo: Repo) -> Body:
        return {
            "id": repo.number,
            "path": repo.name,
            "path_with_namespace": f"{self.org}/{repo.name}",
            "visibility": "private" if repo.private else "public",
            "http_url_to_repo": self.url(repo),
            "default_branch": repo.default if repo.branches() else None,
        }

    def _users(self, query: dict[str, str], **_: Any) -> Answer:
        there = _known(self, query["username"])
        return 200, [{"id": self._number(there), "username": there}] if there else []

    def _number(self, login: str) -> int:
        return 100 + list(self.accounts).index(login)

    def _make(self, body: Body) -> Answer:
        assert body["namespace_id"] == 7
        if body["path"].casefold() in self.repos:
            return 400, {"message": {"path": ["has already been taken"]}}
        private = body["visibility"] == "private"
        return 201, self._told(self.add(body["path"], told=body["description"], private=private))

    def _change(self, number: str, body: Body, **_: Any) -> Answer:
        repo = self._of(number)
        if body["default_branch"] not in repo.branches():
            return 400, {"message": {"base": ["Could not set the default branch"]}}
        repo.default = body["default_branch"]
        _head(repo)
        return 200, self._told(repo)

    def _members(self, number: str, **_: Any) -> Answer:
        names = ["teacher", *self._of(number).members]
        return 200, [{"id": self._number(name), "username": name} for name in names]

    def _invite(self, number: str, body: Body, **_: Any) -> Answer:
        login = next(name for name in self.accounts if self._number(name) == body["user_id"])
        members = self._of(number).members
        if login in members:
            return 409, {"message": "Member already exists"}
        assert body["access_level"] == 30
        members[login] = "developer"
        return 201, {"username": login}

    def _rule(self, number: str, branch: str, **_: Any) -> Answer:
        rule = self._of(number).rules.get(branch)
        return (200, rule) if rule else (404, {"message": "404 Not found"})

    def _protect(self, number: str, body: Body, **_: Any) -> Answer:
        repo = self._of(number)
        if body["name"] in repo.rules:
            return 409, {"message": f"Protected branch '{body['name']}' already exists"}
        level = body["push_access_level"]
        rule = {"name": body["name"], "push_access_levels": [{"access_level": level}]}
        repo.rules[body["name"]] = rule
        if level == 40:
            repo.allow(body["name"], ["teacher"])
        return 201, rule

    def _hook(self, number: str, body: Body, **_: Any) -> Answer:
        self._of(number).hooks.append(body)
        return 201, body


def _login(forge: Forge, token: str) -> str | None:
    return next((who for who, secret in forge.accounts.items() if secret == token), None)


def _known(forge: Forge, account: str) -> str:
    """Return an account as it is written; hosts look past upper and lower case."""
    return next((name for name in forge.accounts if name.casefold() == account.casefold()), "")


def _head(repo: Repo) -> None:
    (repo.folder / "HEAD").write_text(f"ref: refs/heads/{repo.default}\n")


def _added(comments: list[Body], body: Body) -> Answer:
    comments.append({"id": 70 + len(comments), "body": body["body"]})
    return 201, comments[-1]


def _edited(comments: list[Body], id: str, body: Body) -> Answer:
    found = next(each for each in comments if each["id"] == int(id))
    found["body"] = body["body"]
    return 200, found
