"""The table of compiled kernels: rows, errors once each, and nothing wider than 80 columns."""

import io

from rich.console import Console

from grader.labs.compiled import Compiled
from grader.proxy.instruments.launches import specialisation
from grader.report.launches.kernels import Made, render_kernels

GOOD = Compiled(
    *("_sum", 7, "sm_90", "", "a", 40, 8, 2048, 4, 3),
    loads={4: 1, 16: 2},
    dot=True,
    matrix=("wgmma.mma_async",),
)


def shown(*made: Made) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=80, color_system=None, markup=False, emoji=False)
    console.print(render_kernels(made))
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_row_has_all_that_is_known() -> None:
    text = shown(Made(GOOD, "float32[3, 40]", 3))

    assert "_sum, line 7: launched in 3 ways, 1 compiled" in text
    row = next(line for line in text.splitlines() if "sm_90" in line)
    assert row.split() == "sm_90 40 8 B 2 KiB 12 48 registers 4 to 16 wgmma".split()


def test_error_is_told_once_with_its_targets_and_others_are_shown() -> None:
    errors = [
        Made(Compiled("_bad", 9, target, error="no such thing"), "float32[1]", 1)
        for target in ("sm_80", "sm_90")
    ]

    text = shown(*errors, Made(GOOD, "float32[3, 40]", 1))

    assert text.count("line 9: no such thing (sm_80, sm_90)") == 1
    assert "_sum, line 7: launched in one way" in text


def test_kernel_that_fits_on_no_card_is_said_to_be() -> None:
    large = Compiled("_sum", 7, "sm_80", registers=40, shared=200 << 10, warps=4)

    assert "no block fits on an A100: shared memory" in shown(Made(large, "x", 1))


def test_what_a_text_of_the_submission_holds_is_escaped() -> None:
    bad = Compiled("_bad", 9, "sm_90", error="\x1b[2J[red]x[/red]")

    text = shown(Made(bad, "x", 1))

    assert "\x1b" not in text
    assert "[red]x[/red]" in text


def test_launches_that_triton_compiles_alike_are_one() -> None:
    def launch(size: int, offset: int = 0, *, block: int = 64) -> dict[str, object]:
        tensor = ["tensor", "float32", [size], offset, 4 * size]
        kwargs = {"BLOCK": ["value", block]}
        return {"kernel": "k", "line": 1, "args": [tensor, ["value", size]], "kwargs": kwargs}

    usual = specialisation(launch(77))

    assert specialisation(launch(79)) == usual
    others = [launch(80), launch(1), launch(77, 4), launch(77, block=32)]
    assert usual not in map(specialisation, others)
    assert len({*map(specialisation, others)}) == 4
