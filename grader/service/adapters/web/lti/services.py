"""Names and roles, assignments and grades: what the platform tells and takes, by pylti1p3next."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.course.platform import Platform
from grader.errors import CannotGrade
from grader.extras import needs
from grader.service.adapters.web.lti.claims import CLAIM
from grader.service.adapters.web.lti.platform import PatientSession, registration_of
from grader.service.core.people.sending import NotTaken, Result
from grader.service.domain.platforms import Context, Sent
from grader.text import visible_line

with needs("lti"):
    import requests
    from pylti1p3.assignments_grades import AssignmentsGradesService
    from pylti1p3.exception import LtiException, LtiServiceException
    from pylti1p3.grade import Grade
    from pylti1p3.lineitem import LineItem
    from pylti1p3.names_roles import NamesRolesProvisioningService
    from pylti1p3.roles import StudentRole, TeacherRole, TeachingAssistantRole
    from pylti1p3.service_connector import ServiceConnector

AGS = "https://purl.imsglobal.org/spec/lti-ags/scope/"
SCOPES = [f"{AGS}{name}" for name in ("lineitem", "result.readonly", "score")]
MOST_MEMBERS = 20_000
PASSES = (400, 404, 409, 410, 412, 422)  # of one mark; what else comes is about all


class _Connector(ServiceConnector):
    """Asks for a token once in a run."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._tokens: dict[str, str] = {}

    def _get_cached_access_token(self, scope_key: str) -> str | None:
        return self._tokens.get(scope_key)

    def _cache_access_token(self, scope_key: str, access_token: str, expires_in: float) -> None:
        self._tokens[scope_key] = access_token


@dataclass(frozen=True, slots=True)
class Member:
    """A student of the course at the platform; what it does not share is empty."""

    sub: str
    name: str
    email: str
    number: str


class PlatformServices:
    """The services of one course at the platform."""

    def __init__(self, platform: Platform, key: str, context: Context) -> None:
        self._connector = _Connector(registration_of(platform, key), PatientSession())
        self._context = context
        data: Any = {"scope": SCOPES, "lineitems": context.items}
        self._grades = AssignmentsGradesService(self._connector, data)

    def members(self) -> list[Member]:
        """Return the students there who are active."""
        data: Any = {"context_memberships_url": self._context.members}
        with _explained():
            found: list[Any] = list(
                NamesRolesProvisioningService(self._connector, data).get_members()
            )
        return [_member(each) for each in found[:MOST_MEMBERS] if _is_student(each)]

    def item(self, lab: str, label: str, possible: float) -> str:
        """Return the line item of a lab, which is made if there is none."""
        wanted = LineItem().set_tag(lab).set_label(label).set_score_maximum(possible)
        with _explained():
            return str(self._grades.find_or_create_lineitem(wanted.set_resource_id(lab)).get_id())

    def results(self, item: str) -> Mapping[str, Result]:
        """Return what the platform shows, by its own names of people."""
        with _explained():
            found: list[Any] = list(self._grades.get_grades(LineItem().set_id(item)))
        return {
            str(each.get("userId")): Result(
                each.get("resultScore"), each.get("resultMaximum"), str(each.get("comment", ""))
            )
            for each in found
        }

    def put(self, item: str, sub: str, mark: Sent, submitted: datetime | None) -> None:
        """Send a mark; raises NotTaken."""
        grade = Grade().set_score_given(mark.points).set_score_maximum(mark.possible)
        grade.set_user_id(sub).set_comment(mark.comment)
        grade.set_timestamp(mark.made.isoformat(timespec="milliseconds"))
        grade.set_activity_progress("Completed").set_grading_progress("FullyGraded")
        if submitted is not None:
            grade.set_submitted_at(submitted.isoformat(timespec="milliseconds"))
        with _explained(NotTaken):
            self._grades.put_grade(grade, LineItem().set_id(item))


@contextmanager
def _explained(refused: Callable[[str], Exception] = CannotGrade) -> Generator[None]:
    try:
        yield
    except LtiServiceException as error:
        status = error.response.status_code
        told = f"the platform answers {status}: {visible_line(error.response.text, 200)}"
        raise (refused if status in PASSES else CannotGrade)(told) from None
    except (requests.RequestException, LtiException) as error:
        told = f"the platform does not answer: {visible_line(str(error), 200)}"
        raise CannotGrade(told, "run this again later: nothing is sent twice") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CannotGrade(f"the platform's answer makes no sense: {error!r}") from None


def _is_student(member: Mapping[str, Any]) -> bool:
    said = {CLAIM + "roles": [_role(role) for role in member.get("roles", [])]}
    staff = TeacherRole(said).check() or TeachingAssistantRole(said).check()
    return StudentRole(said).check() and not staff and member.get("status", "Active") == "Active"


def _role(text: object) -> str:
    return str(text)


def _member(said: Mapping[str, Any]) -> Member:
    parts = (said.get("given_name", ""), said.get("family_name", ""))
    name = said.get("name") or " ".join(part for part in parts if part)
    return Member(
        str(said["user_id"]),
        str(name),
        str(said.get("email") or "").lower(),
        str(said.get("lis_person_sourcedid") or ""),
    )
