"""Who may come in, in the store without a disk."""

import threading
from dataclasses import replace
from datetime import datetime

from grader.errors import StoreError
from grader.service.domain.records import Role, Session, Token


class MemoryDoors:
    """Implements ``ports.store.Doors``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tokens: list[Token] = []
        self._sessions: dict[str, Session] = {}
        self._deliveries: dict[str, datetime] = {}  # when each came

    def add_token(self, hash: str, owner: str, role: str, now: datetime) -> Token:
        """Add a token by the hash of its secret; raises StoreError if the hash is there."""
        with self._lock:
            if any(token.hash == hash for token in self._tokens):
                raise StoreError("this token is there already")
            token = Token(len(self._tokens) + 1, hash, owner, Role(role), now)
            self._tokens.append(token)
            return token

    def token(self, hash: str) -> Token | None:
        """Return the token with a hash, unless it was revoked."""
        with self._lock:
            return next((t for t in self._tokens if t.hash == hash and t.revoked is None), None)

    def tokens(self) -> list[Token]:
        """List all tokens, those revoked too, oldest first."""
        with self._lock:
            return list(self._tokens)

    def revoke(self, owner: str, now: datetime) -> int:
        """Revoke all tokens of somebody and end their sessions; return how many tokens."""
        with self._lock:
            due = {t.id for t in self._tokens if t.owner == owner and t.revoked is None}
            self._tokens = [replace(t, revoked=now) if t.id in due else t for t in self._tokens]
            self._sessions = {h: s for h, s in self._sessions.items() if s.token not in due}
            return len(due)

    def open_session(self, session: Session) -> None:
        """Let a browser in."""
        with self._lock:
            if session.hash in self._sessions or all(t.id != session.token for t in self._tokens):
                raise StoreError("this session is there already, or its token is not")
            self._sessions[session.hash] = session

    def session(self, hash: str, now: datetime) -> tuple[Session, Token] | None:
        """Return a session that has not ended, with its token if that was not revoked."""
        with self._lock:
            session = self._sessions.get(hash)
            if session is None or session.ends <= now:
                return None
            token = next(t for t in self._tokens if t.id == session.token)
            return None if token.revoked else (session, token)

    def close_session(self, hash: str) -> None:
        """End a session; harmless if there is none."""
        with self._lock:
            self._sessions.pop(hash, None)

    def first_delivery(self, id: str, now: datetime) -> bool:
        """Note the id of a hook's delivery; False if it was seen before."""
        with self._lock:
            is_new = id not in self._deliveries
            self._deliveries.setdefault(id, now)
            return is_new
