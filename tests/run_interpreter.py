"""Try every public name of ``triton.language`` without a GPU: right, mended by us, refused, wrong.

``run_interpreter.py`` prints the table of docs/triton-interpreter.md; ``--write`` puts it there,
and ``--check`` returns 1 if another stands there. Each case of ``tests/language`` runs twice, in
the interpreter that Triton brings and in the one that a worker has, and is compared with torch. A
name without a case must be a type, a constant or a module: then this says which.
"""

import contextlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "triton-interpreter.md"
MARK = "<!-- tests/run_interpreter.py --write writes what follows -->"
MOST_DEATHS = 5
SECONDS = 180
MOST_TRIED = 150  # characters of what was tried
RIGHT, MENDED = "right", "mended by us"

Row = dict[str, str]


def outcomes(which: str) -> list[Row]:
    """Run all cases, in processes of their own: a case may end one."""
    from language.tried import CASES

    found: dict[int, Row] = {}
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"}
    with tempfile.TemporaryDirectory(prefix="inferlab-tried-") as place:
        out = Path(place) / "rows.jsonl"
        for _ in range(MOST_DEATHS):
            command = [sys.executable, "-m", "language.tried", which, str(out), str(len(found))]
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    command, env=environment, check=False, timeout=SECONDS, capture_output=True
                )
                if not out.is_file():
                    raise SystemExit(done.stderr.decode(errors="replace"))
            for line in out.read_text("utf-8").splitlines():
                row = json.loads(line)
                found[row.pop("case")] = row
            if len(found) == len(CASES):
                return [found[number] for number in range(len(CASES))]
            found[len(found)] = {"is": "raises", "says": "the process ends, or does not"}
    raise SystemExit(f"{which}: {MOST_DEATHS} cases end their process")


def public_names() -> list[str]:
    """Return the names of ``triton.language``, without the modules that it is made of."""
    import triton.language as tl

    def ours(name: str, value: Any) -> bool:
        return name in tl.__all__ or not inspect.ismodule(value)

    return sorted(name for name, value in vars(tl).items() if name[0] != "_" and ours(name, value))


def kind_of(name: str) -> str:
    """Say what a name is that no case calls; "" if it is a function and ought to have one."""
    import triton.language as tl

    value: Any = getattr(tl, name)
    if inspect.ismodule(value):
        return "a module"
    if inspect.isclass(value):
        return "a type"
    if isinstance(value, tl.dtype | tl.pointer_type):
        return "a type of elements"
    if isinstance(value, int | float | str):
        return "a constant"
    # A function that kernels call is a builtin, or written in Triton and no plain function.
    if inspect.isfunction(value) and not getattr(value, "__triton_builtin__", False):
        return "a function of the compiler"
    return ""


def rows(own: Sequence[Row], ours: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """Yield each name, what it is, and what was tried."""
    from language.tried import CASES

    for name in public_names():
        numbers = [number for number, case in enumerate(CASES) if case.name == name]
        if not numbers:
            kind = kind_of(name)
            if not kind:
                raise SystemExit(f"nothing tries tl.{name}: add a case to tests/language")
            yield name, kind, ""
            continue
        parts: dict[str, list[str]] = {}
        for number in numbers:
            status = _status(own[number], ours[number])
            tried = CASES[number].tried or "as it is"
            if tried not in parts.setdefault(status, []):
                parts[status].append(tried)
        yield name, _statuses(parts), _tried(parts)


def _status(own: Row, ours: Row) -> str:
    if ours["is"] == "right":
        return RIGHT if own["is"] == "right" else MENDED
    return f"{'refused' if ours['is'] == 'raises' else 'wrong'}: {ours['says']}"


def _statuses(parts: dict[str, list[str]]) -> str:
    return ", ".join(dict.fromkeys(status.partition(":")[0] for status in parts))


def _tried(parts: dict[str, list[str]]) -> str:
    if [*parts] == [RIGHT]:
        return _listed(parts[RIGHT])
    told: list[str] = []
    for status, tried in parts.items():
        head, _, why = status.partition(": ")
        told.append(f"{head}: {_listed(tried)}" + (f" (`{why}`)" if why else ""))
    return "; ".join(told)


def _listed(tried: Sequence[str]) -> str:
    text = ", ".join(tried)
    if len(text) <= MOST_TRIED:
        return text
    cut = text[:MOST_TRIED].rpartition(", ")[0]
    return f"{cut} and {len(tried) - cut.count(', ') - 1} more"


def table() -> str:
    """Return what stands below the mark."""
    import triton
    from language.tried import CASES

    with ThreadPoolExecutor(2) as both:
        found = [*rows(*both.map(outcomes, ("own", "ours")))]
    counts = Counter(part for _, status, _ in found for part in status.split(", "))
    count = {key: counts[key] for key in (RIGHT, MENDED, "refused", "wrong")}
    kinds = len([status for _, status, _ in found if status.startswith("a ")])
    lines = [
        f"## Every name of `triton.language` in Triton {triton.__version__}",
        "",
        f"{len(found)} names, {len(CASES)} small kernels, each compared with torch. Right as "
        f"Triton has it: {count[RIGHT]} names, or a part of what was tried of them; mended by us: "
        f"{count[MENDED]}; refused: {count['refused']}; wrong: {count['wrong']}. {kinds} are "
        "types, modules and the like, which a kernel does not call.",
        "",
        "| name | | tried |",
        "| --- | --- | --- |",
        *(f"| `{name}` | {status} | {_cell(tried)} |" for name, status, tried in found),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(words: list[str]) -> int:
    """Print the table, or write or check it."""
    sys.path.insert(0, str(TESTS))
    new = table()
    text = PAGE.read_text("utf-8")
    before, mark, old = text.partition(f"{MARK}\n\n")
    if "--write" in words:
        PAGE.write_text(f"{before.rstrip()}\n\n{MARK}\n\n{new}", encoding="utf-8")
    elif "--check" in words:
        if not mark or old != new:
            print(f"error: {PAGE.name} has another table", file=sys.stderr)
            print("hint: python tests/run_interpreter.py --write", file=sys.stderr)
            return 1
    else:
        print(new, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
