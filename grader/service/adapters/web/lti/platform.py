"""The platform of course.toml by pylti1p3next, without its sessions: a cookie keeps two words.

The library checks state, signature, registration, deployment and the form of a message. What it
leaves open is checked here: that a token has an end and was made for us alone, and by which
algorithms it may be signed. That none comes twice is for whoever has the store.
"""

import time
from collections.abc import Mapping
from typing import Any

from grader.course.platform import Platform, is_address
from grader.errors import CannotGrade
from grader.extras import needs
from grader.service.adapters.web.lti.claims import CLAIM, LONGEST_NAME, launch_of
from grader.service.adapters.web.lti.tool import Launch, LaunchRefusedError, Link

with needs("lti"):
    import jwt
    import requests
    from pylti1p3.cookie import CookieService
    from pylti1p3.deep_link import DeepLink
    from pylti1p3.deep_link_resource import DeepLinkResource
    from pylti1p3.deployment import Deployment
    from pylti1p3.exception import LtiException, LtiKeyException, OIDCException
    from pylti1p3.launch_data_storage.base import LaunchDataStorage
    from pylti1p3.message_launch import MessageLaunch
    from pylti1p3.oidc_login import OIDCLogin
    from pylti1p3.registration import Registration
    from pylti1p3.request import Request
    from pylti1p3.session import SessionService
    from pylti1p3.tool_config.abstract import ToolConfAbstract

DEEP = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
DATA = "https://purl.imsglobal.org/spec/lti-dl/claim/data"
ALGORITHMS = ("RS256", "PS256", "ES256")  # signatures by a key that the platform alone has
LEEWAY_SECONDS = 60  # between the platform's clock and ours
SECONDS = 10.0  # for an answer of the platform's
CHOOSING_SECONDS = 900
_NONCE = "lti1p3-nonce-"


class PatientSession(requests.Session):
    """Asks with a time limit, and follows nowhere else: the addresses are pinned."""

    def request(self, method: Any, url: Any, *args: Any, **named: Any) -> Any:
        """Ask."""
        return super().request(
            method, url, *args, **{**named, "timeout": SECONDS, "allow_redirects": False}
        )


class _Asked(Request):
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    @property
    def session(self) -> dict[str, Any]:
        return {}

    def is_secure(self) -> bool:
        return True

    def get_param(self, key: str) -> str:
        return self._values.get(key, "")


class _Kept(CookieService, LaunchDataStorage[Any]):
    """What a browser keeps between both requests: state and nonce, and nothing more."""

    def __init__(self, text: str = "") -> None:
        self.state, _, self.nonce = text.partition("|")

    def __str__(self) -> str:
        return f"{self.state}|{self.nonce}"

    def get_cookie(self, name: str) -> str | None:
        return self.state if self.state and name == self.state else None

    def set_cookie(self, name: str, value: str | int, exp: int | None = 3600) -> None:
        self.state = str(value)

    def get_session_cookie_name(self) -> str | None:
        return None

    def can_set_keys_expiration(self) -> bool:
        return True

    def get_value(self, key: str) -> Any:
        return None

    def set_value(self, key: str, value: Any, exp: int | None = None) -> None:
        if key.startswith(_NONCE):
            self.nonce = key.removeprefix(_NONCE)

    def check_value(self, key: str) -> bool:
        return bool(self.nonce) and key == _NONCE + self.nonce


class _Login(OIDCLogin[Any, Any, Any, Any, str]):
    def address(self, back: str) -> str:
        return self._prepare_redirect_url(back)


class _Message(MessageLaunch[Any, Any, Any, Any]):
    def _get_request_param(self, key: str) -> str:
        return self._request.get_param(key)


class _Known(ToolConfAbstract[Any]):
    """The one registration that there is."""

    def __init__(self, platform: Platform, registration: Registration) -> None:
        self._platform = platform
        self._registration = registration

    def check_iss_has_one_client(self, iss: str) -> bool:
        return True

    def check_iss_has_many_clients(self, iss: str) -> bool:
        return False

    def find_registration_by_issuer(self, iss: str, *args: Any, **kwargs: Any) -> Any:
        return self._registration if iss == self._platform.issuer else None

    def find_registration_by_params(
        self, iss: str, client_id: str, *args: Any, **kwargs: Any
    ) -> Any:
        is_ours = client_id == self._platform.client_id
        return self.find_registration_by_issuer(iss) if is_ours else None

    def find_deployment(self, iss: str, deployment_id: str) -> Deployment | None:
        is_ours = iss == self._platform.issuer and deployment_id in self._platform.deployments
        return Deployment().set_deployment_id(deployment_id) if is_ours else None

    def find_deployment_by_params(
        self, iss: str, deployment_id: str, client_id: str, *args: Any, **kwargs: Any
    ) -> Deployment | None:
        return self.find_deployment(iss, deployment_id)


def registration_of(platform: Platform, key: str) -> Registration:
    """Return a registration as the library has it; ``key`` is our private one, as PEM."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    public = load_pem_private_key(key.encode(), None).public_key()
    text = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    made = Registration().set_issuer(platform.issuer).set_client_id(platform.client_id)
    made.set_auth_login_url(platform.login_url).set_auth_token_url(platform.token_url)
    made.set_key_set_url(platform.keys_url).set_tool_private_key(key).set_tool_public_key(text)
    return made.set_auth_audience(platform.audience) if platform.audience else made


class PlatformTool:
    """Checks launches of one platform, and signs what it is sent."""

    def __init__(self, platform: Platform, key: str, back: str) -> None:
        self._platform = platform
        self._key = key
        self._back = back  # the address of launches

    def keys(self) -> dict[str, Any]:
        """Return the keys by which the platform knows what we sign."""
        return {"keys": registration_of(self._platform, self._key).get_jwks()}

    def begin(self, asked: Mapping[str, str]) -> tuple[str, str]:
        """Return where a browser goes to be vouched for, and what it is to keep meanwhile."""
        if asked.get("client_id", self._platform.client_id) != self._platform.client_id:
            raise LaunchRefusedError("it is meant for another client")
        known, kept, request = self._known(), _Kept(), _Asked(asked)
        sessions = SessionService(request)
        sessions.set_data_storage(kept)
        try:
            login = _Login(request, known, session_service=sessions, cookie_service=kept)
            return login.address(self._back), str(kept)
        except (LtiException, OIDCException) as error:
            raise LaunchRefusedError(str(error)) from None

    def launch(self, brought: Mapping[str, str], kept: str) -> Launch:
        """Check what a browser brought back.

        Raises LaunchRefusedError, and CannotGrade if the platform is away.
        """
        if brought.get("error"):
            raise LaunchRefusedError(f"the platform refused: {brought['error']}")
        request, crumbs = _Asked(brought), _Kept(kept)
        sessions = SessionService(request)
        sessions.set_data_storage(crumbs)
        try:
            message = _Message(
                *(request, self._known()),
                session_service=sessions,
                cookie_service=crumbs,
                requests_session=PatientSession(),
            )
            header = jwt.get_unverified_header(brought.get("id_token", ""))
            if header.get("alg") not in ALGORITHMS:
                raise LaunchRefusedError(f"it is signed by {header.get('alg')!r}")
            needed = ["exp", "iat", "nonce", "sub", "iss", "aud"]
            message.set_jwt_verify_options({"verify_aud": False, "require": needed})
            claims: dict[str, Any] = dict(message.validate().get_launch_data())
        except LtiKeyException as error:
            if "fetching" in str(error):
                raise CannotGrade(f"the platform does not answer: {error}") from None
            raise LaunchRefusedError(str(error)) from None
        except (LtiException, jwt.PyJWTError) as error:
            raise LaunchRefusedError(str(error)) from None
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError) as error:
            raise LaunchRefusedError(f"it makes no sense: {error!r}") from None
        self._check(claims)
        return launch_of(claims)

    def links(self, launch: Launch, labs: Mapping[str, str]) -> list[Link]:
        """Return a link for each lab, by title: one is brought back to who asked to choose."""
        settings = launch.claims[DEEP]
        address = str(settings.get("deep_link_return_url", ""))
        if not is_address(address):
            raise LaunchRefusedError("it names no address to bring the choice to")
        deep = DeepLink(
            registration_of(self._platform, self._key),
            launch.claims[CLAIM + "deployment_id"],
            settings,
        )
        return [
            Link(lab, title, address, self._signed(deep, lab, title)) for lab, title in labs.items()
        ]

    def _signed(self, deep: DeepLink, lab: str, title: str) -> str:
        resource = DeepLinkResource().set_url(self._back).set_title(title)
        message: dict[str, Any] = dict(
            deep.get_message_jwt([resource.set_custom_params({"lab": lab})])
        )
        message["exp"] = int(time.time()) + CHOOSING_SECONDS  # somebody has to choose until then
        if message.get("https://purl.imsglobal.org/spec/lti-dl/claim/data") is None:
            message.pop("https://purl.imsglobal.org/spec/lti-dl/claim/data", None)
        return str(deep.encode_jwt(message))

    def _known(self) -> _Known:
        return _Known(self._platform, registration_of(self._platform, self._key))

    def _check(self, claims: Mapping[str, Any]) -> None:
        """Refuse what the library lets pass."""
        client, audience = self._platform.client_id, claims["aud"]
        if audience not in (client, [client]) or claims.get("azp", client) != client:
            raise LaunchRefusedError("it is meant for others too")
        now = time.time()
        if not isinstance(claims["iat"], int | float) or claims["iat"] > now + LEEWAY_SECONDS:
            raise LaunchRefusedError("it comes from the future")
        if not isinstance(claims["sub"], str) or len(claims["sub"]) > LONGEST_NAME:
            raise LaunchRefusedError("it names nobody")
