"""``python tests/run_compare_edits.py REV``: wrong answers build what they were at a git revision.

Both are read as syntax trees, docstrings and names of locals aside: who renames one in a right
answer renames it in its edits. Of imports only those count whose name is used: an edit leaves those
of its right answer that it has no use for.
"""

import ast
import subprocess
import sys
from pathlib import Path

from grader.prove.answers.edits import built
from grader.prove.proven import without_docstrings

ROOT = Path(__file__).resolve().parent.parent


def main(revision: str) -> int:
    """Compare every wrong answer of the revision; return 0 if each is here, and the same."""
    listed = git("ls-tree", "-r", "--name-only", revision, "solutions").splitlines()
    files = [name for name in listed if "/wrong/" in name and name.endswith(".py")]
    differ = [name for name in files if not alike(revision, name)]
    for name in differ:
        print(f"! {name}")
    print(f"{len(files) - len(differ)} of {len(files)} wrong answers are what they were")
    return 1 if differ else 0


def alike(revision: str, name: str) -> bool:
    """True if a file builds the same answer here as at the revision."""
    path, folder = Path(name), Path(name).parent.parent

    def then(base: str) -> str:
        return git("show", f"{revision}:{folder / base}")

    def now(base: str) -> str:
        return (ROOT / folder / base).read_text(encoding="utf-8")

    model = f"{folder.name[3:]}.py"
    old = built(git("show", f"{revision}:{path}"), model, then)
    new = built((ROOT / path).read_text(encoding="utf-8"), model, now)
    return meaning(old) == meaning(new)


def meaning(text: str) -> tuple[dict[str, str], list[str]]:
    """Return what each used name is imported as, and all other statements, in their order."""
    tree = _Numbered().visit(without_docstrings(ast.parse(text)))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports: dict[str, str] = {}
    rest: list[str] = []
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            rest.append(ast.dump(node))
            continue
        source = (
            f"from {'.' * node.level}{node.module} " if isinstance(node, ast.ImportFrom) else ""
        )
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if name in used:
                imports[name] = f"{source}import {ast.unparse(alias)}"
    return imports, rest


class _Numbered(ast.NodeTransformer):
    """Numbers in place of a function's locals, in the order in which they occur; not parameters."""

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Number the locals of an outermost function and of those within as one."""
        if self.numbers:
            return self.generic_visit(node)
        inside = [*ast.walk(node)]
        kept = {part.arg for part in inside if isinstance(part, ast.arg)}
        for part in inside:
            if isinstance(part, ast.Global | ast.Nonlocal):
                kept.update(part.names)
        names = (part for part in inside if isinstance(part, ast.Name))
        bound = {part.id: None for part in names if isinstance(part.ctx, ast.Store)}
        self.numbers = {name: f"local {i}" for i, name in enumerate(bound) if name not in kept}
        self.generic_visit(node)
        self.numbers = {}
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Put its number in the place of a local."""
        node.id = self.numbers.get(node.id, node.id)
        return node


def git(*arguments: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
