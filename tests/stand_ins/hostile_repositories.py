"""Repositories that cost whoever reads them: a few kilobytes that stand for gigabytes, odd trees.

The objects are written here, byte for byte: git itself refuses to make most of them.
"""

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from stand_ins.remotes import Remote

BRANCH = "student/eve"
CODE = "90_echo/echo.py"
HANDED_IN = datetime(2026, 10, 1, 21, tzinfo=UTC)
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_REF_DELTA = 7
MIB = 1 << 20


class Pack:
    """A pack that is written object by object."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def add(self, kind: str, content: bytes) -> str:
        """Add an object and return its hash."""
        name = _hash(kind, [content])
        self._entries[name] = _head(_KINDS[kind], len(content)) + zlib.compress(content, 9)
        return name

    def repeat(self, kind: str, content: bytes, times: int) -> str:
        """Add an object that is another one, added before, many times over: a delta."""
        delta = _varint(len(content)) + _varint(len(content) * times)
        delta += (b"\xf0" + struct.pack("<I", len(content))[:3]) * times  # copy all, from 0 on
        entry = _head(_REF_DELTA, len(delta)) + bytes.fromhex(_hash(kind, [content]))
        name = _hash(kind, [content] * times)
        self._entries[name] = entry + zlib.compress(delta, 9)
        return name

    def write(self, remote: Remote, tip: str, branch: str = BRANCH) -> None:
        """Put the pack into a repository and a branch onto one of its commits."""
        data = (
            b"PACK" + struct.pack(">II", 2, len(self._entries)) + b"".join(self._entries.values())
        )
        data += hashlib.sha1(data).digest()
        folder = remote.folder / "objects" / "pack"
        folder.mkdir(exist_ok=True)
        (folder / f"pack-{data[-20:].hex()}.pack").write_bytes(data)
        (folder / f"pack-{data[-20:].hex()}.idx").write_bytes(self._index(data[-20:]))
        ref = remote.folder / "refs" / "heads" / branch
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(f"{tip}\n")

    def _index(self, pack: bytes) -> bytes:
        """The pack's index, version 2; git would first read what the objects stand for."""
        at, places = 12, dict[str, int]()
        for name, entry in self._entries.items():
            places[name], at = at, at + len(entry)
        names = sorted(places)
        firsts = [int(name[:2], 16) for name in names]
        parts = [b"\xfftOc", struct.pack(">I", 2)]
        parts += [struct.pack(">I", bisect_right(firsts, byte)) for byte in range(256)]
        parts += [bytes.fromhex(name) for name in names]
        parts += [struct.pack(">I", zlib.crc32(self._entries[name])) for name in names]
        parts += [struct.pack(">I", places[name]) for name in names]
        data = b"".join(parts) + pack
        return data + hashlib.sha1(data).digest()

    def tree(self, *entries: tuple[str, str, str]) -> str:
        """Add a tree of entries: mode, name, hash; they are taken as they come."""
        return self.add("tree", tree(entries))

    def commit(self, tree: str, *parents: str, message: bytes = b"work\n", who: str = "S") -> str:
        """Add a commit."""
        return self.add("commit", _commit(tree, parents, who) + message)


def tree(entries: Iterable[tuple[str, str, str]]) -> bytes:
    return b"".join(
        f"{mode} {name}\0".encode() + bytes.fromhex(entry) for mode, name, entry in entries
    )


def _commit(tree: str, parents: Iterable[str], who: str) -> bytes:
    seconds = int(HANDED_IN.timestamp())
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"{role} {who} <s@x> {seconds} +0000" for role in ("author", "committer")]
    return "\n".join([*lines, "", ""]).encode()


def _hash(kind: str, parts: list[bytes]) -> str:
    digest = hashlib.sha1(f"{kind} {sum(map(len, parts))}\0".encode())
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _head(number: int, size: int) -> bytes:
    first, rest = number << 4 | size & 15, size >> 4
    return bytes([first | 128]) + _varint(rest) if rest else bytes([first])


def _varint(size: int) -> bytes:
    found = bytearray()
    while size >= 128:
        found.append(size & 127 | 128)
        size >>= 7
    return bytes([*found, size])


def _answer(pack: Pack) -> tuple[str, str, str]:
    """Add an answer to the lab; its entry of the top."""
    return ("40000", "90_echo", pack.tree(("100644", "echo.py", pack.add("blob", b"answer"))))


# -- what costs memory, time or output -------------------------------------------------------


def tree_bomb(remote: Remote) -> None:
    """A thousand million files, and none of them the lab's."""
    pack = Pack()
    entry = ("100644", "file", pack.add("blob", b"x"))
    for _ in range(10):
        mode, _, name = entry
        entry = ("40000", "f", pack.tree(*((mode, f"f{at}", name) for at in range(10))))
    pack.write(remote, pack.commit(entry[2]))


def wide_tree(remote: Remote) -> None:
    """A top of a million entries beside the lab's folder."""
    pack = Pack()
    blob = pack.add("blob", b"x")
    files = (("100644", f"z{at:07}", blob) for at in range(1_000_000))
    pack.write(remote, pack.commit(pack.tree(_answer(pack), *files)))


def deep_tree(remote: Remote) -> None:
    """Folders in folders, 5,000 of them, and no answer."""
    pack = Pack()
    entry = pack.tree(("100644", "f", pack.add("blob", b"x")))
    for _ in range(5_000):
        entry = pack.tree(("40000", "d", entry))
    pack.write(remote, pack.commit(entry))


def long_commit(remote: Remote) -> None:
    """A commit with a message of 800 MiB."""
    pack = Pack()
    top = pack.tree(_answer(pack))
    head = _commit(top, (), "S")
    base = head.ljust(8 * MIB, b"x")
    pack.add("commit", base)
    pack.write(remote, pack.repeat("commit", base, 100))


def long_commits(remote: Remote) -> None:
    """300 commits with 900 KiB of message each."""
    pack = Pack()
    top = pack.tree(_answer(pack))
    tip = pack.commit(top)
    for _ in range(300):
        tip = pack.commit(top, tip, message=b"x" * (900 << 10))
    pack.write(remote, tip)


def long_author(remote: Remote) -> None:
    """A commit whose author's name has 3 MiB."""
    pack = Pack()
    pack.write(remote, pack.commit(pack.tree(_answer(pack)), who="S" * (3 * MIB)))


def delta_bomb(remote: Remote) -> None:
    """A file of 800 MiB that is a delta, at a host that leaves no files out."""
    (remote.folder / "config").write_text("[core]\n\tbare = true\n")
    pack = Pack()
    base = b"x" * (8 * MIB)
    files = [("base.bin", pack.add("blob", base)), ("large.bin", pack.repeat("blob", base, 100))]
    top = pack.tree(_answer(pack), *(("100644", name, blob) for name, blob in files))
    pack.write(remote, pack.commit(top))


def long_file(remote: Remote) -> None:
    """The answer itself is a file of 800 MiB, at a host that leaves no files out."""
    (remote.folder / "config").write_text("[core]\n\tbare = true\n")
    pack = Pack()
    base = b"x" * (8 * MIB)
    pack.add("blob", base)
    folder = pack.tree(("100644", "echo.py", pack.repeat("blob", base, 100)))
    pack.write(remote, pack.commit(pack.tree(("40000", "90_echo", folder))))


def many_branches(remote: Remote) -> None:
    """A million branches, and none of them the student's."""
    tip = remote.commit("main", {"a": "b"}, HANDED_IN)
    own = remote.tip("student/bob")
    lines = [f"{tip} refs/heads/a/{at:07}" for at in range(1_000_000)]
    lines += [f"{tip} refs/heads/main", f"{own} refs/heads/student/bob"]
    text = "# pack-refs with: peeled fully-peeled sorted\n" + "".join(f"{x}\n" for x in lines)
    (remote.folder / "packed-refs").write_text(text)


COSTLY: tuple[tuple[Callable[[Remote], None], str], ...] = (
    (tree_bomb, "there is no echo.py in 90_echo/, in labs/90_echo/ or at the top"),
    (wide_tree, "its last commit alone is too much: a folder of its history has 34 MiB"),
    (deep_tree, "there is no echo.py in 90_echo/, in labs/90_echo/ or at the top"),
    (long_commit, "its last commit alone is too much: git fetch needs more than 512 MiB of memory"),
    (long_commits, ""),
    (long_author, "its last commit alone is too much: a commit of its history has 6 MiB"),
    (delta_bomb, "its last commit alone is too much: git fetch needs more than 512 MiB of memory"),
    (long_file, "its last commit alone is too much: git fetch: at the other end: Out of memory"),
    (many_branches, "there is no branch student/eve"),
)


# -- what is odd ----------------------------------------------------------------------------


def _with(*entries: tuple[str, str]) -> Callable[[Remote], None]:
    """A top with these modes and names beside the lab's folder."""

    def make(remote: Remote) -> None:
        pack = Pack()
        blob, inner = pack.add("blob", b"answer"), pack.tree()
        own = [_answer(pack)]
        own += [(mode, name, inner if mode == "40000" else blob) for mode, name in entries]
        own.sort(key=lambda entry: entry[1] + "/" * (entry[0] == "40000"))
        pack.write(remote, pack.commit(pack.tree(*own)))

    return make


def submodule(remote: Remote) -> None:
    """A submodule in place of the code."""
    pack = Pack()
    folder = pack.tree(("160000", "echo.py", "12" * 20))
    pack.write(remote, pack.commit(pack.tree(("40000", "90_echo", folder))))


def twins(remote: Remote) -> None:
    """Two entries of the code's name."""
    pack = Pack()
    files = [("100644", "echo.py", pack.add("blob", text)) for text in (b"one", b"two")]
    pack.write(remote, pack.commit(pack.tree(("40000", "90_echo", pack.tree(*files)))))


def link(remote: Remote) -> None:
    """A link in place of the lab's folder, to where an answer lies."""
    pack = Pack()
    mode, _, folder = _answer(pack)
    target = pack.add("blob", b"elsewhere")
    pack.write(
        remote, pack.commit(pack.tree(("120000", "90_echo", target), (mode, "elsewhere", folder)))
    )


def settings(remote: Remote) -> None:
    """Files by which git runs programs, rewrites what it reads, or asks another host."""
    pack = Pack()
    texts = {
        ".gitattributes": b"* filter=run diff=run merge=run ident export-subst text eol=crlf\n",
        ".gitconfig": b'[filter "run"]\n\tsmudge = touch ran\n\tclean = touch ran\n',
        ".gitmodules": b'[submodule "a"]\n\tpath = a\n\turl = https://example.org/a\n',
        ".lfsconfig": b"[lfs]\n\turl = https://example.org/lfs\n",
        ".mailmap": b"Bob <b@x> <s@x>\n",
    }
    files = [("100644", name, pack.add("blob", text)) for name, text in texts.items()]
    pack.write(remote, pack.commit(pack.tree(*files, _answer(pack))))


def _dated(seconds: str) -> Callable[[Remote], None]:
    """A commit of that date."""

    def make(remote: Remote) -> None:
        pack = Pack()
        commit = _commit(pack.tree(_answer(pack)), (), "S")
        usual = str(int(HANDED_IN.timestamp())).encode()
        pack.write(remote, pack.add("commit", commit.replace(usual, seconds.encode()) + b"work\n"))

    return make


ODD: dict[str, tuple[Callable[[Remote], None], str]] = {
    "dot git": (_with(("40000", ".git")), "hasDotgit"),
    "dot dot": (_with(("40000", "..")), "hasDotdot"),
    "slash": (_with(("100644", "a/b")), "fullPathname"),
    "no name": (_with(("100644", "")), "empty filename in tree entry"),
    "twins": (twins, "duplicateEntries"),
    "submodule": (submodule, "90_echo/echo.py is not a regular file"),
    "newline": (_with(("100644", "a\nb"), ("100644", "\x1b[2J")), ""),
    "case": (_with(("40000", "90_ECHO"), ("40000", "90_Echo")), ""),
    "windows": (_with(("100644", "aux"), ("100644", "git~1")), "hasDotgit"),
    "link": (link, "90_echo is not a folder"),
    "settings": (settings, ""),
    "year 1": (_dated("0"), ""),
    "year 9999": (_dated("253402300799"), "no commit dated up to"),
    "no year": (_dated("9" * 15), "no commit dated up to"),
    "no date": (_dated("x"), "has a date that no clock shows"),
    "no number": (_dated("9" * 30), "no commit dated up to"),
    "old mode": (_with(("100664", "a")), ""),
}
LATER = HANDED_IN + timedelta(hours=2)
