"""Connects to whatever it can; it answers rightly only if there is nothing.

Expect:
    scale: passed
    score: 95
"""

import math
import os
import socket

ADDRESSES = [
    ("1.1.1.1", 53),
    ("8.8.8.8", 443),
    ("127.0.0.1", 22),
    ("169.254.169.254", 80),
    ("::1", 80),
]
PATHS = ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "\0judge"]


def reach(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(0.2)
        try:
            sock.connect(address)
        except OSError:
            return
    raise RuntimeError(f"connected to {address!r}")


def scale(x, factor):
    for host, port in ADDRESSES:
        reach(socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port))
    for path in PATHS:
        reach(socket.AF_UNIX, path)
    if set(os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else ()) - {"lo"}:
        raise RuntimeError("a network is in view")
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)
