"""What ``lab bench collectives`` makes of what it measures, and that it measures at all."""

import json
from pathlib import Path

import pytest
from stand_ins.isolation import require_sandbox

from bench.network import table
from bench.network.bus import KINDS, bus_factor
from bench.network.run import Layer, Moved, sizes
from grader.cli.app import main

MACHINE = {"date": "2026-01-02", "backend": "gloo"}
FOUND = [
    Moved("all_reduce", 4, 512 << 20, 2e-3),
    Moved("broadcast", 2, 96, 50e-6),
    Layer(1024, 3584, 7, 0, 8e-3),
    Layer(1024, 3584, 7, 2, 5e-3),
]


@pytest.mark.parametrize(
    ("kind", "world", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 4, 1.5),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 3, 2 / 3),
        ("broadcast", 4, 1.0),
        ("send_recv", 4, 1.0),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(kind: str, world: int, factor: float) -> None:
    assert bus_factor(kind, world) == pytest.approx(factor)


def test_rates_come_from_the_full_tensor() -> None:
    assert FOUND[0].algorithm == pytest.approx(268.4, abs=0.1)  # type: ignore[union-attr]
    assert FOUND[0].bus == pytest.approx(402.7, abs=0.1)  # type: ignore[union-attr]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("largest", [100, 1 << 20, 512 << 20])
def test_every_rank_can_take_its_part_of_every_size(world: int, largest: int) -> None:
    found = sizes(world, largest)

    assert found == sorted(set(found))
    assert largest - 4 * world < found[-1] <= largest
    assert all(size > 0 and size % (4 * world) == 0 for size in found)


def test_speed_up_is_over_the_whole_layer() -> None:
    rows = table.render_markdown(FOUND, MACHINE).splitlines()

    assert "| all_reduce | 4 | 512 MiB | 2000 µs | 268 GB/s | 403 GB/s |" in rows
    assert "| broadcast | 2 | 96 B | 50 µs | 1.92 MB/s | 1.92 MB/s |" in rows
    assert "| 1024 x 3584 | 7 | whole | 8000 µs | - | - |" in rows
    assert "| 1024 x 3584 | 7 | 2 | 5000 µs | 1.60 | 80 % |" in rows
    assert rows[:2] == ["- date: 2026-01-02", "- backend: gloo"]


def test_json_holds_the_numbers() -> None:
    data = json.loads(table.render_json(FOUND, MACHINE))

    assert data["machine"] == MACHINE
    assert data["collectives"][0]["bus_gbs"] == pytest.approx(402.7, abs=0.1)
    assert data["mlp"][1] == {
        "width": 1024,
        "inner": 3584,
        "tokens": 7,
        "world": 2,
        "seconds": 5e-3,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all_reduces"], "no collective 'all_reduces'"),
        (["--backend", "mpi"], "no backend 'mpi'"),
        (["--json", "/nowhere/at/all.json"], "no folder"),
        (["--backend", "nccl", "--ranks", "2"], "GPUs"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "collectives", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_every_collective_is_measured_in_the_sandbox(tmp_path: Path) -> None:
    require_sandbox()
    files = {form: tmp_path / f"ranks.{form}" for form in ("json", "html", "markdown")}
    options = [word for form, file in files.items() for word in (f"--{form}", str(file))]

    assert main(["bench", "collectives", "--ranks", "2", "--largest-mb", "1", *options]) == 0

    data = json.loads(files["json"].read_text())
    assert {item["kind"] for item in data["collectives"]} == set(KINDS)
    assert {item["world"] for item in data["mlp"]} == {0, 1, 2}
    assert all(item["seconds"] > 0 for item in data["collectives"] + data["mlp"])
    page = files["html"].read_text()
    assert "<svg" in page or "image/svg" in page
    assert "all_reduce" in files["markdown"].read_text()
