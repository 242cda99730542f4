"""What Triton has compiled goes from one worker to the next, as it is or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.worker import compiled_files

FILES = {
    "ab/x.cubin": b"\x00\x01\x02",
    "ab/x.json": b"{}",
    "cd/launcher.so": b"\x7fELF",
    "cd/empty": b"",
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "first"))
    for name, content in FILES.items():
        path = tmp_path / "first" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_files_come_as_they_were(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = compiled_files.collect()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache / "second"))

    compiled_files.restore(*taken)

    for name, content in FILES.items():
        assert (cache / "second" / name).read_bytes() == content


def test_no_more_is_taken_at_a_time_than_fits_a_message(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_files, "MOST_BYTES", 5)

    names, sizes, data = compiled_files.collect()
    rest, _, left = compiled_files.collect(names)

    assert (names, sizes, data.numel()) == (
        ["0/ab/x.cubin", "0/ab/x.json", "0/cd/empty"],
        [3, 2, 0],
        5,
    )
    assert (rest, left.numel()) == (["0/cd/launcher.so"], 4)


def test_files_of_a_full_disk_are_compiled_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = compiled_files.collect()
    (cache / "second").write_text("a file where the folder should be")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache / "second"))

    compiled_files.restore(*taken)


def test_nothing_is_there_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in compiled_files.CACHES:
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    taken = compiled_files.collect()

    compiled_files.restore(*taken)

    assert taken[0] == []
    assert not (tmp_path / "none").exists()


LOADED = """
import ctypes, os, sys
import os
import subprocess
import sys
from pathlib import Path
from grader.worker import compiled_files

place = Path(os.environ["TRITON_CACHE_DIR"], "ab", "launcher.so")
library = ctypes.CDLL(str(place))
library.length.argtypes = [ctypes.c_char_p]
compiled_files.restore(*compiled_files.collect())
print(library.length(b"kernel"))
"""


def test_library_that_is_loaded_is_left_alone(tmp_path: Path) -> None:
    """A file that is written anew loses the addresses which its loader has put into it."""
    source, place = tmp_path / "length.c", tmp_path / "ab" / "launcher.so"
    source.write_text("#include <string.h>\nint length(const char *s) { return strlen(s); }\n")
    place.parent.mkdir()
    subprocess.run(
        ["gcc", "-O0", "-fno-builtin", "-shared", "-fPIC", "-o", place, source], check=True
    )

    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout.split()) == (0, ["6"])
