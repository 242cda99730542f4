"""What git hosts tell of a push: believed by its signature, and once.

A host that cannot be told from anybody else gets the answer of an address that does not exist.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from grader.extras import needs
from grader.report.facts.measured import table_of, text_of
from grader.service.adapters.web.shared.answers import Told
from grader.service.adapters.web.shared.site import Push, Site, site_of
from grader.service.core.door import same
from grader.service.domain.refusals import NotFound

with needs("service"):
    from anyio.to_thread import run_sync
    from fastapi import APIRouter
    from starlette.requests import Request

router = APIRouter()
MOST_ID = 200  # characters of a delivery's
HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Host:
    """The headers of a kind of host, and its word for a push."""

    proof: str
    delivery: str
    event: str
    push: str


HOSTS = {
    "github": Host("x-hub-signature-256", "x-github-delivery", "x-github-event", "push"),
    "gitea": Host("x-gitea-signature", "x-gitea-delivery", "x-gitea-event", "push"),
    "gitlab": Host("x-gitlab-token", "x-gitlab-event-uuid", "x-gitlab-event", "Push Hook"),
}


@router.post("/hooks/git/{kind}", status_code=202)
async def pushed(request: Request, kind: str) -> dict[str, str]:
    """Note that a branch was pushed to."""
    return await run_sync(_take, site_of(request), kind, request, await request.body())


def _take(site: Site, kind: str, request: Request, body: bytes) -> dict[str, str]:
    host, secret = HOSTS.get(kind), site.course.service.hook_secrets.get(kind, "")
    if host is None or site.collect is None or not secret:
        raise NotFound("there is no such hook")
    if not _is_proven(kind, request.headers.get(host.proof, ""), secret, body):
        raise NotFound("there is no such hook")
    delivery = request.headers.get(host.delivery, "")
    if not 0 < len(delivery) <= MOST_ID:
        raise Told(422, f"the header {host.delivery} is missing")
    event = request.headers.get(host.event, "")
    # The body too: whoever has one that was signed could send it under another id.
    marks = (f"{kind}:{delivery}", f"{kind}:{hashlib.sha256(body).hexdigest()}")
    if event == host.push and not all(
        site.store.first_delivery(mark, site.now()) for mark in marks
    ):
        raise Told(409, "this delivery came before")
    if event != host.push:
        return {"state": "ignored"}
    push = _push(kind, body)
    if push is None:
        return {"state": "ignored"}
    site.collect(push)
    return {"state": "noted"}


def _is_proven(kind: str, proof: str, secret: str, body: bytes) -> bool:
    if kind == "gitlab":
        return same(secret, proof)
    right = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return same(f"sha256={right}" if kind == "github" else right, proof)


def _push(kind: str, body: bytes) -> Push | None:
    """Read a push to a branch; None of a tag, and of a branch that was deleted."""
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise Told(422, "the body is not JSON", "choose application/json for the hook") from None
    told = table_of(data)
    ref, commit = text_of(told.get("ref")), text_of(told.get("after"))
    if not ref.startswith(HEADS) or not commit.strip("0"):
        return None
    project = table_of(told.get("project" if kind == "gitlab" else "repository"))
    url = text_of(project.get("git_http_url" if kind == "gitlab" else "clone_url"))
    return Push(kind, url, ref.removeprefix(HEADS), commit)
