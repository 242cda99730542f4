"""The text of a script that repeats a test: what it is of, what it brings, then the calls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from grader.labs.lab import Lab
from grader.labs.results import TestResult, Verdict
from grader.text import visible

FILES = "FILES"  # the folder beside the script, in its code
MOST_SAID = 4000  # characters of the judge's message
MOST_STORED = 20  # inputs that are named
PREPARES = ("grader.worker.scripts", "repeated")  # Triton as the judge has it
COUNTS = ("flops", "largest", "launches", "operators", "memory")
# What the judge does around the calls of some tests, and a script does not.
BESIDE = {
    "sanitizer": "the judge follows kernels through memory: with SANITIZE=1 make python does, too",
    "grids": "the judge launches no program, and looks at the size of the grid alone",
    "recorder": "the judge compiles the kernels for GPUs afterwards: make compile LAB={lab}",
    "guard": "the judge looks for what this lab forbids",
    "decoys": "the judge hides numbers from all but the kernels",
    "sender": "the judge hides numbers from all but the kernels, or torch's operators",
    "silenced": "the judge lets no kernel run, and counts them",
    **dict.fromkeys(COUNTS, "the judge counts what the calls cost"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """What a script is made of; ``file`` is where it goes, in the lab's tree."""

    lab: Lab
    code: Path  # the student's file
    file: Path
    result: TestResult
    seed: int
    told: dict[str, Any]  # by the judge, of the test
    python: str  # as one types it

    @property
    def runs(self) -> str:
        """The command that runs it."""
        return f"make python LAB={self.lab.number} FILE={self._typed(self.file)}"

    @property
    def steps(self) -> str:
        """The command that steps through it."""
        return f"{self.python} -m pdb {self._typed(self.file)}"

    def _typed(self, path: Path) -> str:
        root = self.lab.root
        return str(path.relative_to(root) if path.is_relative_to(root) else path)

    def text(self) -> str:
        """Return the whole script."""
        body: Sequence[str] = self.told["body"] or ["# The file is all that the test came to."]
        parts = [[*self._head()], [*self._imports()], [*self._inputs()], [*body]]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def _head(self) -> Iterator[str]:
        """Say what it is, how to run it, and what the judge said."""
        test, failed = visible(self.result.id), self.result.verdict is not Verdict.PASSED
        yield f"# What {test} asks of {self._typed(self.code)}, up to its last call."
        yield "#"
        yield f"# run it:           {self.runs}"
        yield f"# step through it:  {self.steps}"
        yield f"# `make repeat` writes it anew, with the inputs of seed {self.seed}."
        yield "#"
        yield "# The judge, when this was written:" if failed else "# The judge: it passed."
        message = visible(self.result.message.strip(), MOST_SAID) if failed else ""
        yield from (f"#     {line}".rstrip() for line in message.splitlines())
        beside = [*self.beside()]
        if beside:
            yield "#"
            yield "# Not done here:"
            yield from (f"#     {line}" for line in beside)

    def beside(self) -> Iterator[str]:
        """Say what the judge does around the calls, and the script does not."""
        said = dict.fromkeys(BESIDE[x] for x in self.told["probes"] if x in BESIDE)
        yield from (line.format(lab=self.lab.number) for line in said)

    def _imports(self) -> Iterator[str]:
        """Bring the student's module, and what is given beside it."""
        suppresses = any("suppress(" in line for line in self.told["body"])
        yield "import sys"
        yield from ["from contextlib import suppress"] * suppresses
        yield "from pathlib import Path"
        yield "\nimport torch\n"
        yield "HERE = Path(__file__).resolve().parent"
        yield "ROOT = HERE.parents[2]"
        yield f'{FILES} = HERE / "{self.file.stem}"'
        yield f"sys.path[:0] = [{self._folder()}, str(ROOT)]\n"
        triton = "triton" in self.lab.imports
        needed = {*map(tuple, self.told["modules"]), *[PREPARES] * triton}
        for package, modules in groupby(sorted(needed), itemgetter(0)):
            yield f"from {package} import {', '.join(module for _, module in modules)}"
        if triton:
            yield f'\nrepeated.begin("{self.told["device"]}")  # Triton as the judge has it'
        yield from ["", *self._own()] if needed else self._own()

    def _folder(self) -> str:
        folder, root = self.code.parent.resolve(), self.lab.root.resolve()
        if folder.is_relative_to(root):
            return f'str(ROOT / "{folder.relative_to(root)}")'
        return repr(str(folder))

    def _own(self) -> Iterator[str]:
        topic = self.lab.topic
        if self.code.stem == topic:
            yield f"import {topic}  # yours"
            return
        yield "from importlib.util import module_from_spec, spec_from_file_location\n"
        place = f"Path({self._folder()}) / {self.code.name!r}"
        yield f'spec = spec_from_file_location("{topic}", {place})'
        yield f'{topic} = sys.modules["{topic}"] = module_from_spec(spec)  # yours'
        yield f"spec.loader.exec_module({topic})"

    def _inputs(self) -> Iterator[str]:
        """Load what stands in no line, and name what is long and comes often."""
        stored: list[str] = self.told["stored"]
        if stored:
            where = f', map_location="{self.told["device"]}"'
            place = where if self.told["device"] != "cpu" else ""
            yield f'x = torch.load({FILES} / "inputs.pt"{place})  # what the test passes:'
            yield from (f"# x[{i}]: {visible(x)}" for i, x in enumerate(stored[:MOST_STORED]))
            if len(stored) > MOST_STORED:
                yield f"# … and more, up to x[{len(stored) - 1}]"
        yield from (f"{name} = {code}" for name, code in self.told["records"].items())
