"""A small learning platform by LTI 1.3: over real HTTP, with keys, forms and services of its own.

What it says of whom, and how it signs that, is a test's to change.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, DEPLOYMENT = "10000000000001", "1:course"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
DEEP = "https://purl.imsglobal.org/spec/lti-dl/claim/"
MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
LEARNER, INSTRUCTOR = f"{MEMBERSHIP}#Learner", f"{MEMBERSHIP}#Instructor"
ASSISTANT = f"{MEMBERSHIP}/Instructor#TeachingAssistant"


class SmallPlatform:
    """Launches whoever comes as ``person``; ``claims`` and ``header`` are put over its own."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
        self.address = ""
        self.person: dict[str, Any] = {"sub": "u-17", "email": "ada@example.org"}
        self.roles = [LEARNER]
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.signed_by: Any = None  # another key than the one that it tells of
        self.asked: list[str] = []  # paths
        self.tool_keys: Any = None  # of the tool, by which it asks for tokens
        self.members: list[dict[str, Any]] = []
        self.items: list[dict[str, Any]] = []
        self.scores: list[dict[str, Any]] = []  # each that was taken, in order
        self.fails: dict[str, int] = {}  # statuses, by the end of a path or a user

    def login(self) -> dict[str, str]:
        """Return what a browser brings to the login address when somebody clicks a link."""
        return {
            "iss": self.address,
            "login_hint": "17",
            "client_id": CLIENT,
            "lti_message_hint": "link 5",
            "target_link_uri": "https://labs.example.org/lti/launch",
        }

    def authorize(self, address: str) -> dict[str, str]:
        """Do what the platform does at its login address; return the form that a browser posts."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.address}/auth?")
        assert asked["scope"] == "openid"
        assert asked["response_type"] == "id_token"
        assert asked["response_mode"] == "form_post"
        assert asked["prompt"] == "none"
        assert asked["client_id"] == CLIENT
        assert asked["login_hint"] == "17"
        assert asked["lti_message_hint"] == "link 5"
        return {"state": asked["state"], "id_token": self.token(asked["nonce"])}

    def token(self, nonce: str) -> str:
        """Sign a launch."""
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            CLAIM + "message_type": "LtiResourceLinkRequest",
            CLAIM + "version": "1.3.0",
            CLAIM + "deployment_id": DEPLOYMENT,
            CLAIM + "target_link_uri": "https://labs.example.org/lti/launch",
            CLAIM + "resource_link": {"id": "link 5"},
            CLAIM + "roles": self.roles,
            CLAIM + "context": {"id": "course 3", "title": "Inference"},
        }
        claims |= self.person | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "RS256", "kid": "one", "typ": "JWT"} | self.header
        return self._signed({k: v for k, v in header.items() if v is not None}, kept)

    def choosing(self) -> None:
        """Let the next launches ask which lab a new link is for."""
        self.roles = [INSTRUCTOR]
        self.claims = {
            CLAIM + "message_type": "LtiDeepLinkingRequest",
            CLAIM + "resource_link": None,
            DEEP + "deep_linking_settings": {
                "accept_types": ["ltiResourceLink"],
                "accept_presentation_document_targets": ["window"],
                "deep_link_return_url": f"{self.address}/chosen",
                "data": "of the platform's own",
            },
        }

    def _signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        if header["alg"] in ("none", "HS256"):  # what no library signs
            text = ".".join(_plain(json.dumps(each).encode()) for each in (header, claims))
            # The public key, which all know, as if it were a secret.
            known = self.key.as_pem(private=False)
            proof = hmac.new(known, text.encode(), hashlib.sha256).digest()
            return f"{text}.{_plain(proof) if header['alg'] == 'HS256' else ''}"
        return jwt.encode(header, claims, self.signed_by or self.key, algorithms=[header["alg"]])

    def answer(self, path: str, given: Any = None, bearer: str = "") -> tuple[int, Any]:
        """Answer a request for a path; ``given`` is what was posted."""
        self.asked.append(path)
        status = next((self.fails[end] for end in self.fails if path.endswith(end)), 0)
        if status:
            return status, {"error": "as a test wants it"}
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/token":
            return self._give_token(given)
        scope = bearer.removeprefix("Bearer token for ")
        if path.startswith("/members") and "contextmembership.readonly" in scope:
            half, second = len(self.members) // 2, path.endswith("page=2")
            return 200, {"members": self.members[half:] if second else self.members[:half]}
        if path.startswith("/items") and "lti-ags/scope" in scope:
            return self._grade(path, given)
        return 401, {}

    def _give_token(self, form: dict[str, str]) -> tuple[int, Any]:
        said = jwt.decode(form["client_assertion"], self.tool_keys, algorithms=["RS256"]).claims
        rules = jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": CLIENT},
            sub={"essential": True, "value": CLIENT},
            aud={"essential": True, "value": f"{self.address}/token"},
            exp={"essential": True},
        )
        rules.validate(said)
        assert form["grant_type"] == "client_credentials"
        return 200, {"access_token": f"token for {form['scope']}", "expires_in": 3600}

    def _grade(self, path: str, given: Any) -> tuple[int, Any]:
        if path == "/items":
            if given is None:
                return 200, self.items
            self.items.append(given | {"id": f"{self.address}/items/{len(self.items) + 1}"})
            return 201, self.items[-1]
        item = path.split("/")[2]
        own = [score for score in self.scores if score["item"] == item]
        if path.endswith("/results"):
            newest = {score["userId"]: score for score in own}
            return 200, [
                {
                    "userId": user,
                    "resultScore": score["scoreGiven"],
                    "resultMaximum": score["scoreMaximum"],
                    "comment": score["comment"],
                }
                for user, score in newest.items()
            ]
        if given["userId"] in self.fails:
            return self.fails[given["userId"]], {"error": "nobody here"}
        before = [score["timestamp"] for score in own if score["userId"] == given["userId"]]
        if before and given["timestamp"] <= max(before):
            return 409, {"error": "an older word"}
        self.scores.append(given | {"item": item})
        return 200, {}


def _plain(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def small_platform() -> Iterator[SmallPlatform]:
    """Serve a platform on this machine."""
    made = SmallPlatform()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*made.answer(self.path, None, self.headers.get("authorization", "")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if self.path == "/token":
                given: Any = {name: values[0] for name, values in parse_qs(body).items()}
            else:
                given = json.loads(body)
            self._send(*made.answer(self.path, given, self.headers.get("authorization", "")))

        def _send(self, status: int, content: Any) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            if self.path == "/members":
                self.send_header("link", f'<{made.address}/members?page=2>; rel="next"')
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
