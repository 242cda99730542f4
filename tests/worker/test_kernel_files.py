"""What Triton has compiled goes from one worker to the next, as it is or not at all."""

from pathlib import Path

import pytest

from grader.worker import kernels

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
    taken = kernels.collect()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache / "second"))

    kernels.restore(*taken)

    for name, content in FILES.items():
        assert (cache / "second" / name).read_bytes() == content


def test_too_much_is_not_taken(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_BYTES", 8)

    names, sizes, data = kernels.collect()

    assert (names, sizes, data.numel()) == ([], [], 0)


def test_nothing_is_there_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "none"))
    taken = kernels.collect()

    kernels.restore(*taken)

    assert taken[0] == []
    assert not (tmp_path / "none").exists()
