"""Who comes in: tokens that are shown once, and sessions of browsers that came in with one.

Secrets have 256 bits, so their plain hashes can be stored and looked up: there is nothing to guess.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from grader.errors import UsageError
from grader.service.domain.records import Role, Session, Token, Who
from grader.service.domain.refusals import NotSignedIn
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

PREFIX = "inferlab_"  # of a token, by which scanners of published code know it
LASTS = timedelta(hours=12)  # a session
MOST_SECRET = 200  # characters that are looked at


@dataclass(frozen=True, slots=True)
class Visit:
    """An open session: whose it is, and the word that its forms must carry."""

    who: Who
    csrf: str


class Door:
    """Lets people in."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def issue(self, owner: str, role: Role) -> str:
        """Make a token and return its secret, which nobody can be told again.

        Raises UsageError for a student who is not on the roster.
        """
        if role is Role.STUDENT and owner not in {each.id for each in self._store.students()}:
            raise UsageError(f"no student {owner!r} is on the roster", "lab roster reads it anew")
        secret = PREFIX + secrets.token_urlsafe(32)
        self._store.add_token(hashed(secret), owner, role, self._clock.now())
        return secret

    def revoke(self, owner: str) -> int:
        """End all tokens and sessions of somebody; return how many tokens that were."""
        return self._store.revoke(owner, self._clock.now())

    def known(self, secret: str) -> Who:
        """Return whose token it is; raises NotSignedIn."""
        return self._who(self._token(secret))

    def open(self, secret: str) -> tuple[str, Visit]:
        """Open a session with a token: its own secret, for a cookie, and the visit."""
        token = self._token(secret)
        who, now = self._who(token), self._clock.now()
        own, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._store.open_session(Session(hashed(own), token.id, csrf, now, now + LASTS))
        return own, Visit(who, csrf)

    def visit(self, secret: str) -> Visit | None:
        """Return the session that a cookie names; None if it has ended."""
        found = self._store.session(hashed(secret), self._clock.now())
        if found is None:
            return None
        session, token = found
        return Visit(self._who(token), session.csrf)

    def close(self, secret: str) -> None:
        """End a session."""
        self._store.close_session(hashed(secret))

    def _token(self, secret: str) -> Token:
        found = self._store.token(hashed(secret)) if secret.startswith(PREFIX) else None
        if found is None:
            raise NotSignedIn("this token is unknown, or was revoked", "ask for a new one")
        return found

    def _who(self, token: Token) -> Who:
        return Who(token.owner, token.role)


def hashed(secret: str) -> str:
    """Return the hash by which a secret is known, in hexadecimal."""
    return hashlib.sha256(secret[:MOST_SECRET].encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare two secrets in a time that tells nothing of them."""
    return hmac.compare_digest(one.encode(), other.encode("utf-8", "surrogatepass"))
