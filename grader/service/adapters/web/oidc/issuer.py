"""The issuer whose word on an e-mail address is taken: one, pinned by course.toml.

Nothing that a browser brings chooses an address, a key or an algorithm here. What the issuer says
of itself must name it; what it signs must be meant for this course, this browser and this moment.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from grader.course.policy import SignIn
from grader.errors import CannotGrade
from grader.extras import needs
from grader.report.facts.measured import table_of, text_of
from grader.service.adapters.web.oidc.identity import NotVouchedError

with needs("service"):
    import httpx2
    from authlib.common.errors import AuthlibBaseError
    from authlib.integrations.httpx_client import OAuth2Client
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

DISCOVERY = "/.well-known/openid-configuration"
ALGORITHMS = ["RS256", "PS256", "ES256"]  # signatures by a key that the issuer alone has
SCOPE = "openid email"
SECONDS = 10.0  # for an answer of the issuer's
LEEWAY_SECONDS = 60  # between its clock and ours
KEPT_SECONDS = 3600.0  # what it says of itself
AGAIN_SECONDS = 60.0  # before its keys are asked for once more
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(slots=True)
class _Known:
    """What the issuer said of itself, and when."""

    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: Any = None
    asked: float = float("-inf")


class Issuer:
    """Asks the issuer, by code and PKCE, and checks what it signs."""

    def __init__(self, sign_in: SignIn, secret: str, back: str) -> None:
        self._sign_in = sign_in
        self._secret = secret
        self._back = back  # the address to which browsers come back
        self._known = _Known()
        self._lock = threading.Lock()

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser goes to sign in. Raises CannotGrade if the issuer is away."""
        with self._client() as client:
            endpoint = self._endpoints()["authorization_endpoint"]
            made, _ = client.create_authorization_url(
                endpoint, state=state, nonce=nonce, code_verifier=verifier
            )
            return cast(str, made)

    def is_called(self, name: str) -> bool:
        """Whether a name is the issuer's own, to the letter."""
        return name == self._sign_in.issuer

    def email(self, code: str, nonce: str, verifier: str) -> str:
        """Return the verified e-mail address of whoever a code stands for, in lower case.

        Raises NotVouchedError, and CannotGrade if the issuer is away.
        """
        try:
            with self._client() as client:
                answer: Any = client.fetch_token(
                    self._endpoints()["token_endpoint"], code=code, code_verifier=verifier
                )
        except httpx2.HTTPError as error:
            raise CannotGrade(f"the issuer does not answer: {error}") from None
        except (AuthlibBaseError, ValueError) as error:
            raise NotVouchedError(f"the issuer took no code: {error}") from None
        claims = self._claims(text_of(table_of(answer).get("id_token")), nonce)
        email = text_of(claims.get("email"))
        if claims.get("email_verified") is not True:
            raise NotVouchedError("the issuer has not verified the e-mail address")
        if not email.isascii() or email.count("@") != 1:
            raise NotVouchedError("there is no plain e-mail address")
        return email.lower()

    def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        """Return what a token claims, if the issuer signed it for this course and this browser."""
        rules = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._sign_in.issuer},
            aud={"essential": True, "value": self._sign_in.client_id},
            nonce={"essential": True, "value": nonce},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
        )
        try:
            try:
                found = jwt.decode(token, self._keys(), algorithms=ALGORITHMS)
            except (JoseError, ValueError):
                # It may sign by a new key: its keys are asked for anew, and not at every word.
                found = jwt.decode(token, self._keys(anew=True), algorithms=ALGORITHMS)
            rules.validate(found.claims)
        except (JoseError, ValueError, TypeError) as error:
            raise NotVouchedError(f"the token does not hold: {error!r}") from None
        claims = found.claims
        party = claims.get("azp", self._sign_in.client_id)
        if claims["aud"] not in (self._sign_in.client_id, [self._sign_in.client_id]):
            raise NotVouchedError("the token is meant for others too")
        if party != self._sign_in.client_id:
            raise NotVouchedError("the token was given to another party")
        return claims

    def _endpoints(self) -> Mapping[str, str]:
        self._ask(KEPT_SECONDS)
        return self._known.endpoints

    def _keys(self, *, anew: bool = False) -> Any:
        self._ask(AGAIN_SECONDS if anew else KEPT_SECONDS)
        return self._known.keys

    def _ask(self, older: float) -> None:
        """Ask the issuer about itself, if what is known is older than some seconds."""
        with self._lock:
            if time.monotonic() - self._known.asked < older:
                return
            issuer = self._sign_in.issuer
            said = _got(issuer.rstrip("/") + DISCOVERY)
            if said.get("issuer") != issuer:
                raise CannotGrade(f"{issuer} calls itself {said.get('issuer')!r}")
            endpoints = {name: text_of(said.get(name)) for name in ENDPOINTS}
            for name, address in endpoints.items():
                if urlsplit(address).scheme != urlsplit(issuer).scheme:
                    raise CannotGrade(f"the issuer's {name} is {address!r}")
            try:
                keys = KeySet.import_key_set(cast(Any, _got(endpoints["jwks_uri"])))
            except (JoseError, ValueError, TypeError, KeyError) as error:
                raise CannotGrade(f"the issuer's keys cannot be read: {error!r}") from None
            self._known = _Known(endpoints, keys, time.monotonic())

    def _client(self) -> Any:
        return OAuth2Client(
            self._sign_in.client_id,
            self._secret,
            scope=SCOPE,
            redirect_uri=self._back,
            code_challenge_method="S256",
            timeout=SECONDS,
        )


def _got(address: str) -> dict[str, Any]:
    try:
        answer = httpx2.get(address, timeout=SECONDS)
        answer.raise_for_status()
        return dict(table_of(answer.json()))
    except (httpx2.HTTPError, ValueError) as error:
        raise CannotGrade(f"the issuer does not answer: {error}") from None
