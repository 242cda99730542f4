"""Who sends a request, and by which scheme: a proxy's word counts only if the course names it."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.course.policy import Network

Headers = Sequence[tuple[bytes, bytes]]
FORWARDING = (b"x-forwarded-for", b"x-forwarded-proto", b"forwarded", b"via", b"x-real-ip")


@dataclass(frozen=True, slots=True)
class Client:
    """Where a request comes from; ``is_near``: from this machine or one of the named proxies."""

    host: str
    scheme: str
    is_near: bool


def client_of(scope: Any, proxies: Sequence[Network]) -> Client:
    """Return who sent a request.

    Of ``X-Forwarded-For`` the last address counts that is not a proxy of ours: what stands before
    it, anybody can have written.
    """
    headers: Headers = scope["headers"]
    peer = scope["client"][0] if scope.get("client") else ""
    if not _is_among(peer, proxies):
        # Somebody's proxy on this machine that the course does not name: what it brings is far.
        forwarded = any(name in FORWARDING for name, _ in headers)
        return Client(peer, scope["scheme"], _is_loopback(peer) and not forwarded)
    said = [part for text in values(headers, b"x-forwarded-for") for part in text.split(",")]
    host = peer
    for part in reversed(said):
        host = part.strip()
        if not _is_among(host, proxies):
            break
    known = _address(host) is not None
    schemes = values(headers, b"x-forwarded-proto")
    scheme = schemes[-1].rpartition(",")[2].strip().lower() if schemes else scope["scheme"]
    near = known and (_is_among(host, proxies) or _is_loopback(host))
    return Client(host if known else peer, scheme if scheme in ("http", "https") else "http", near)


def values(headers: Headers, name: bytes) -> list[str]:
    """Return the values of a header, one for each time it stands there."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _is_among(text: str, networks: Sequence[Network]) -> bool:
    address = _address(text)
    return address is not None and any(address in network for network in networks)


def _is_loopback(text: str) -> bool:
    address = _address(text)
    return address is not None and address.is_loopback
