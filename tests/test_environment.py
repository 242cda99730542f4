"""What crosses to whom: what is in no row reaches nobody, and folders of libraries are sifted."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import ROOT, environment
from grader.environment import (
    CROSSES,
    To,
    assert_driver,
    crossing,
    ignored,
    library_folders,
    lock_folder,
)
from grader.errors import CannotGrade

Folder = Callable[..., str]
GPU = "libcuda.so.1"
PYTHON = "libpython3.99.so.1.0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Make folders with libraries, and name them all in LD_LIBRARY_PATH."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    shared = {"Py_ENABLE_SHARED": 1, "INSTSONAME": PYTHON}
    monkeypatch.setattr(environment.sysconfig, "get_config_var", shared.get)
    # Workers have a /tmp of their own; these folders stand for others.
    monkeypatch.setattr(environment, "OWN", ())
    made: list[str] = []

    def make(*names: str) -> str:
        place = tmp_path / str(len(made))
        place.mkdir()
        for name in names:
            (place / name).touch()
        made.append(str(place))
        monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(["", "here", *made, "/nowhere"]))
        return str(place)

    return make


@pytest.mark.parametrize("to", To)
def test_what_is_in_no_row_crosses_to_nobody(monkeypatch: pytest.MonkeyPatch, to: To) -> None:
    names = ("LD_PRELOAD", "LD_AUDIT", "PYTHONPATH", "OMP_NUM_THREADS", "NCCL_DEBUG", "SECRET")
    for name in names:
        monkeypatch.setenv(name, "hostile")

    assert "hostile" not in crossing(to).values()


@pytest.mark.parametrize("to", To)
def test_each_row_crosses_to_whom_it_names(monkeypatch: pytest.MonkeyPatch, to: To) -> None:
    rows = {name: row for row in CROSSES for name in row.names}
    others = rows.keys() - {"TMPDIR", "LD_LIBRARY_PATH"}
    for name in others:
        monkeypatch.setenv(name, f"a value of {name}")

    crossed = crossing(to)

    wanted = {name for name in others if to in rows[name].to}
    assert {name for name in others if name in crossed} == wanted
    assert all(crossed[name] == f"a value of {name}" for name in wanted)


def test_no_name_stands_in_two_rows_and_each_row_has_a_reason() -> None:
    names = [name for row in CROSSES for name in row.names]

    assert len(names) == len({*names})
    assert all(row.why and row.to for row in CROSSES)


def test_the_document_says_the_same() -> None:
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")

    for row in CROSSES:
        names = ", ".join(f"`{name}`" for name in row.names)
        assert f"| {names} | {', '.join(row.to)} | {row.why} |\n" in text


def test_what_starts_all_others_has_what_they_have() -> None:
    for row in CROSSES:
        if {To.WORKER, To.GPU_WORKER, To.LAUNCHER, To.TOOL} & {*row.to}:
            assert To.SESSION in row.to


def test_folders_are_for_whom_they_hold_something(folder: Folder) -> None:
    python, driver, launcher = folder(PYTHON), folder(GPU), folder("libcap.so.2")
    folder("libsomething.so.1")
    folder()

    assert library_folders(To.WORKER) == library_folders(To.READER) == (python,)
    assert library_folders(To.GPU_WORKER) == (python, driver)
    assert library_folders(To.LAUNCHER) == (launcher,)
    assert library_folders(To.TOOL) == (driver,)
    assert library_folders(To.GIT) == ()
    assert library_folders(To.SESSION) == (python, driver, launcher)
    assert crossing(To.GPU_WORKER)["LD_LIBRARY_PATH"] == f"{python}:{driver}"


@pytest.mark.parametrize(
    "foreign", ["libc.so.6", "libstdc++.so.6.0.30", "libcublas.so.12", "libtorch_cpu.so"]
)
@pytest.mark.parametrize("wanted", [GPU, PYTHON, "libcap.so.2"])
def test_a_folder_that_shadows_others_is_for_nobody(
    folder: Folder, wanted: str, foreign: str
) -> None:
    folder(wanted, foreign)

    assert [library_folders(to) for to in To] == [()] * len(To)
    assert all("LD_LIBRARY_PATH" not in crossing(to) for to in To)


def test_driver_that_is_kept_out_is_an_error_unless_it_is_found_anyway(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loader = tmp_path / "ld.so.cache"
    monkeypatch.setattr(environment, "LOADER", loader)
    assert_driver()
    shadowing = folder(GPU, "libstdc++.so.6")
    with pytest.raises(CannotGrade, match=rf"lies in {shadowing}, beside libstdc\+\+.so.6"):
        assert_driver()

    loader.write_bytes(b"\0libcuda.so.1\0/usr/lib/libcuda.so.1\0")
    assert_driver()
    loader.unlink()
    folder(GPU)
    assert_driver()


def test_worker_gets_no_folder_where_it_has_its_own(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver = folder(GPU)
    monkeypatch.setattr(environment, "OWN", (f"{tmp_path}/",))

    assert library_folders(To.GPU_WORKER) == ()
    assert library_folders(To.TOOL) == (driver,)


def test_temporary_folder_is_told_as_it_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", None)

    assert crossing(To.SESSION)["TMPDIR"] == tempfile.gettempdir() != str(tmp_path / "nowhere")
    assert f"TMPDIR ({tempfile.gettempdir()} instead)" in [*ignored()]


def test_locks_do_not_follow_a_jobs_own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "of a job"))
    monkeypatch.setattr(environment, "SHARED", tmp_path)
    assert lock_folder() == tmp_path

    monkeypatch.setattr(environment, "SHARED", tmp_path / "closed")
    assert lock_folder() == tmp_path / "of a job"


def test_what_would_have_mattered_is_named(monkeypatch: pytest.MonkeyPatch, folder: Folder) -> None:
    folder(GPU)
    folder("libfoo.so")
    for name in ("LD_PRELOAD", "NCCL_DEBUG", "NCCL_NVLS_ENABLE", "EDITOR", "PYTHONUNBUFFERED"):
        monkeypatch.setenv(name, "1")

    named = {*ignored()}

    assert {"LD_PRELOAD", "NCCL_DEBUG", "3 of 4 folders in LD_LIBRARY_PATH"} <= named
    assert not {"NCCL_NVLS_ENABLE", "EDITOR", "PYTHONUNBUFFERED"} & named
