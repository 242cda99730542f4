"""Negative controls: submissions made from a stub that answer every call with the same nonsense.

Whatever earns a point with one of them is not tested. They are as accommodating as nonsense can
be: any argument is taken, any attribute is there, a module can be called.
"""

import ast
from collections.abc import Iterator

from grader.reading.syntax import Function

HEAD = '''"""Negative control: every answer is {title}."""

import torch


def _tensor(args):
    found = [value for value in args if isinstance(value, torch.Tensor)]
    return found[0] if found else torch.zeros(2, 3)


def _answer(*args, **kwargs):
    args = (*args, *kwargs.values())
    {body}
'''
BODIES = {
    "none": ("None", "return None"),
    "zero": ("0", "return 0"),
    "empty": ("an empty list", "return []"),
    "text": ("a string", "return 'text'"),
    "first": ("the first argument", "return args[0] if args else None"),
    "zeros": ("zeros like the first tensor", "return torch.zeros_like(_tensor(args))"),
    "nan": (
        "NaN like the first tensor",
        "return torch.full(_tensor(args).shape, float('nan'))",
    ),
    "generator": ("a generator", "return (value for value in args)"),
    "raises": (
        "a ValueError that names everything",
        "raise ValueError(f'{NAMES} {[type(value) for value in args]}')",
    ),
}


def make_controls(stub: str) -> dict[str, str]:
    """Write the controls for a stub: source by name. Raises SyntaxError for a broken stub."""
    definitions = "\n\n".join(_definitions(ast.parse(stub)))
    names = " ".join(sorted(_argument_names(ast.parse(stub))))
    return {
        name: f"{HEAD.format(title=title, body=body)}\n\nNAMES = {names!r}\n\n\n{definitions}\n"
        for name, (title, body) in BODIES.items()
    }


def _argument_names(tree: ast.Module) -> set[str]:
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _definitions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield f"def {node.name}(*args, **kwargs):\n    return _answer(*args, **kwargs)"
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield "\n".join([f"class {node.name}:", *_class_body(node)])


def _class_body(node: ast.ClassDef) -> Iterator[str]:
    yield "    def __init__(self, *args, **kwargs):\n        pass"
    # Attributes that the stub only describes, such as a length.
    yield "    def __getattr__(self, name):"
    yield "        if name.startswith('_'):\n            raise AttributeError(name)"
    yield "        return _answer()"
    methods = [item for item in node.body if isinstance(item, Function)]
    for method in methods:
        if method.name == "__call__" or not method.name.startswith("_"):
            yield from _method(method)
    if any(method.name == "forward" for method in methods):
        yield "    __call__ = forward"  # it stands for an nn.Module


def _method(node: Function) -> Iterator[str]:
    kinds = {ast.unparse(item).rpartition(".")[2] for item in node.decorator_list}
    if "classmethod" in kinds:
        # Most often another constructor: go deeper than its answer.
        yield f"    @classmethod\n    def {node.name}(cls, *args, **kwargs):\n        return cls()"
        return
    if "property" in kinds:
        yield "    @property"
    first = "" if "staticmethod" in kinds else "self, "
    if not first:
        yield "    @staticmethod"
    yield f"    def {node.name}({first}*args, **kwargs):\n        return _answer(*args, **kwargs)"
