"""A small issuer of OpenID Connect: over real HTTP, with codes, PKCE and signatures of its own.

What it signs, and about whom, is a test's to change.
"""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "inferlab", "a secret of the client"


class SmallIssuer:
    """Signs in whoever comes as ``person``; ``claims`` and ``header`` are put over its own."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.address = ""
        self.person: dict[str, Any] = {"email": "ada@example.org", "email_verified": True}
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.signed_by: Any = None  # another key than the one that it tells of
        self.said: dict[str, Any] = {}  # over what it says of itself
        self.codes: dict[str, dict[str, str]] = {}

    def sign_in(self, address: str) -> dict[str, str]:
        """Do what a person does at the issuer; return what their browser brings back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def token(self, form: dict[str, str], basic: str) -> tuple[int, dict[str, Any]]:
        """Give a token for a code: once, to the client, for the verifier of its challenge."""
        asked = self.codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = _plain(verifier)
        right = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if asked is None or asked["code_challenge"] != challenge or basic != f"Basic {right}":
            return 400, {"error": "invalid_grant"}
        if asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"]} | self.person | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        token = self._signed({"alg": "RS256", "kid": "one"} | self.header, kept)
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": token}

    def _signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        if header["alg"] in ("none", "HS256"):  # what no library signs
            text = ".".join(_plain(json.dumps(each).encode()) for each in (header, claims))
            # The public key, which all know, as if it were a secret.
            known = self.key.as_pem(private=False)
            proof = hmac.new(known, text.encode(), hashlib.sha256).digest()
            return f"{text}.{_plain(proof) if header['alg'] == 'HS256' else ''}"
        return jwt.encode(header, claims, self.signed_by or self.key, algorithms=[header["alg"]])

    def answer(self, path: str) -> dict[str, Any]:
        """Answer what it says of itself, and its keys."""
        if path == "/keys":
            return {"keys": [self.key.as_dict(private=False)]}
        names = {"authorization_endpoint": "/go", "token_endpoint": "/token", "jwks_uri": "/keys"}
        ends = {name: self.address + end for name, end in names.items()}
        return {"issuer": self.address} | ends | self.said


def _plain(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def small_issuer() -> Iterator[SmallIssuer]:
    """Serve an issuer on this machine."""
    made = SmallIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, made.answer(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._send(*made.token(form, self.headers.get("authorization", "")))

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _send(self, status: int, content: dict[str, Any]) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
