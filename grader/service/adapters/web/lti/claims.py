"""What a message that was checked claims, as the pages want it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from grader.course.platform import is_address
from grader.extras import needs
from grader.service.adapters.web.lti.tool import Launch, LaunchRefusedError
from grader.service.domain.platforms import Context
from grader.service.domain.records import Role

with needs("lti"):
    from pylti1p3.roles import StudentRole, TeacherRole, TeachingAssistantRole

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
LONGEST_NAME = 255  # characters of a subject, by the specification
LONGEST_URL = 2000


def launch_of(claims: Mapping[str, Any]) -> Launch:
    """Return what a message claims; raises LaunchRefusedError if it asks for something else."""
    kind = claims.get(CLAIM + "message_type")
    if kind not in ("LtiResourceLinkRequest", "LtiDeepLinkingRequest"):
        raise LaunchRefusedError(f"nothing here is done for a {kind!r}")
    return Launch(
        sub=claims["sub"],
        role=_role(claims),
        email=_text(claims.get("email")).lower(),
        number=_text(_table(claims.get(CLAIM + "lis")).get("person_sourcedid")),
        lab=_text(_table(claims.get(CLAIM + "custom")).get("lab")),
        chooses=kind == "LtiDeepLinkingRequest",
        context=_context(claims),
        claims=claims,
    )


def _context(claims: Mapping[str, Any]) -> Context | None:
    """Return the course that a launch tells of; None where it tells of none."""
    said = _table(claims.get(CLAIM + "context"))
    members = _text(_table(claims.get(NRPS)).get("context_memberships_url"), LONGEST_URL)
    items = _text(_table(claims.get(AGS)).get("lineitems"), LONGEST_URL)
    if not _text(said.get("id")):
        return None
    return Context(
        deployment=_text(claims.get(CLAIM + "deployment_id")),
        id=_text(said.get("id")),
        title=_text(said.get("title")),
        members=members if is_address(members) else "",
        items=items if is_address(items) else "",
        seen=datetime.now(UTC),
    )


def _role(claims: Mapping[str, Any]) -> Role | None:
    """Return what somebody is in the course: the least where it is several, but for students."""
    if not all(isinstance(each, str) for each in claims.get(CLAIM + "roles", ())):
        return None
    if TeachingAssistantRole(claims).check():  # of whom Canvas says that they are instructors too
        return Role.ASSISTANT
    if TeacherRole(claims).check():
        return Role.INSTRUCTOR
    return Role.STUDENT if StudentRole(claims).check() else None


def _text(value: object, longest: int = LONGEST_NAME) -> str:
    return value if isinstance(value, str) and len(value) <= longest else ""


def _table(value: object) -> Mapping[str, Any]:
    return json.loads(json.dumps(value)) if isinstance(value, dict) else {}
