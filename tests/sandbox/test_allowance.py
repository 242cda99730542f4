"""What a machine must allow: each thing is taken away, and the error names it."""

import importlib.util
import os
import resource
from pathlib import Path

import pytest
from stand_ins.expectation import find

from grader.errors import CannotGrade
from grader.sandbox import allowance
from grader.sandbox.allowance import assert_installed, assert_readable, needs, raise_limits

LAB = find("90_echo")


def test_gpu_needs_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_AS: 1 << 40}
    free = (resource.RLIM_INFINITY,) * 2
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (1, limits[kind]) if kind in limits else free
    )
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: None)

    raise_limits(LAB, "cpu")
    with pytest.raises(CannotGrade, match="addresses is 1073741824, and lab 90 needs unlimited"):
        raise_limits(LAB, "cuda")


def test_a_group_of_ranks_needs_processes_for_all_its_sizes() -> None:
    alone, ranks = (needs(find(name), "cpu")["NPROC"].least for name in ("90_echo", "92_ranks"))

    assert ranks > alone > LAB.limits.processes


def test_package_that_a_setting_leads_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here").mkdir()
    (tmp_path / "only_here" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert_installed("only_here")

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(CannotGrade, match=f"only PYTHONPATH leads: {tmp_path}/only_here"):
        assert_installed("only_here")
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setattr(allowance.site, "getusersitepackages", lambda: str(tmp_path))
    with pytest.raises(CannotGrade, match="a user's own site-packages leads"):
        assert_installed("only_here")


def test_package_that_is_found_anyway_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings name the folder around a virtual environment, and the very one that has torch."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    packages = Path(str(spec.origin)).parents[1]
    folders = [*map(str, packages.parents), str(packages)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))

    assert_installed("torch")


def test_package_that_is_nowhere_is_named() -> None:
    with pytest.raises(CannotGrade, match="no_such_package is not installed"):
        assert_installed("no_such_package")


@pytest.mark.parametrize("closed", ["", "config.json", "weights"])
def test_checkpoint_that_is_closed_is_named(tmp_path: Path, closed: str) -> None:
    folder = tmp_path / "target"
    folder.mkdir(mode=0o755)
    for name in ("config.json", "weights"):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    assert_readable({"target": folder})

    (folder / closed).chmod(0o750)
    with pytest.raises(CannotGrade, match="target is closed to other users") as caught:
        assert_readable({"target": folder})
    assert caught.value.message.endswith(str(folder / closed))
