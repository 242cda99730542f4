"""What a kernel may be made of, so that its text can run where the true numbers are.

Triton's compiler takes a part of Python, and so does this, of every branch: names of the function,
of other kernels, of numbers and of ``tl``; methods of blocks; no attribute, call or statement that
leads anywhere else. Whatever passes can read and write what it was launched on, and nothing else.
"""

import ast
from collections.abc import Collection, Iterator

STATEMENTS = (
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr),
    *(ast.Pass, ast.Break, ast.Continue, ast.Assert),
)
EXPRESSIONS = (
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Constant),
    *(ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Tuple, ast.List, ast.JoinedStr),
    *(ast.FormattedValue, ast.ListComp, ast.NamedExpr, ast.Starred),
)
PARTS = (
    *(ast.keyword, ast.comprehension, ast.expr_context, ast.operator, ast.unaryop, ast.boolop),
    ast.cmpop,
)
# Python's own that Triton's compiler knows.
BUILTINS = frozenset(
    ("range", "min", "max", "abs", "len", "float", "int", "bool", "print", "isinstance")
)
# Of blocks, pointers, descriptors, types and constants.
ATTRIBUTES = frozenset(
    (
        *("T", "abs", "advance", "argmax", "argmin", "associative_scan", "atomic_add"),
        *("atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg"),
        *("atomic_xor", "broadcast_to", "cast", "cdiv", "ceil", "cos", "cumprod", "cumsum", "erf"),
        *("exp", "exp2", "expand_dims", "flip", "floor", "gather", "histogram", "item", "log"),
        *("log2", "logical_and", "logical_or", "max", "min", "permute", "ravel", "reduce"),
        *("reduce_or", "reshape", "rsqrt", "sigmoid", "sin", "softmax", "sort", "split", "sqrt"),
        *("sqrt_rn", "store", "sum", "to", "trans", "view", "xor_sum", "load", "scatter"),
        *("shape", "dtype", "type", "element_ty", "scalar", "numel", "value", "name"),
        *("block_shape", "strides", "primitive_bitwidth", "int_bitwidth", "fp_mantissa_width"),
        *("is_bf16", "is_block", "is_bool", "is_floating", "is_fp16", "is_fp32", "is_fp64"),
        *("is_fp8", "is_fp8e4nv", "is_fp8e5", "is_int", "is_int1", "is_int8", "is_int16"),
        *("is_int32", "is_int64", "is_int_signed", "is_int_unsigned", "is_ptr", "is_uint8"),
        *("is_uint16", "is_uint32", "is_uint64", "is_standard_floating"),
    )
)


NO_VARIABLE = "a module's name is no variable of a kernel"


class Unliftable(Exception):
    """A kernel that is not made of that; ``line`` is where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"{message} (line {line})")
        self.line = line


def functions(tree: ast.Module) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file by the lines on which they begin, decorators included."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min([node.lineno, *(d.lineno for d in node.decorator_list)]): node for node in found}


def reads(function: ast.FunctionDef) -> list[str]:
    """Return the names that a function reads, in its defaults and annotations too."""
    return sorted({node.id for node in ast.walk(function) if isinstance(node, ast.Name)})


def chain(node: ast.expr) -> list[str]:
    """Return ``tl.math.exp`` as its names; empty where it does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [*reversed((*names, node.id))] if isinstance(node, ast.Name) else []


def check(function: ast.FunctionDef, known: Collection[str], modules: Collection[str]) -> None:
    """Raise Unliftable unless a function is made of what kernels are made of.

    ``known`` are the names of its file that stand for numbers, kernels and Triton's own; of them
    ``modules`` lead on to names of Triton's.
    """
    names = {*known, *BUILTINS, *_own_names(function, modules)}
    for node in _outside(function):
        _check_node(node, {*known, *BUILTINS}, modules)
    for statement in function.body:
        for node in _walk(statement):
            _check_node(node, names, modules)


def _own_names(function: ast.FunctionDef, modules: Collection[str]) -> Iterator[str]:
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.arg in modules:
            raise Unliftable(f"{argument.arg}: {NO_VARIABLE}", argument.lineno)
        yield argument.arg
    if arguments.vararg or arguments.kwarg:
        raise Unliftable("a kernel takes no *args and no **kwargs", function.lineno)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _outside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Walk through what runs when a function is defined: defaults and annotations."""
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    outside = [*arguments.defaults, *arguments.kw_defaults, function.returns]
    for tree in (*outside, *(argument.annotation for argument in every)):
        if tree is not None:
            yield from _walk(tree)


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk through a tree, but not below an attribute whose names are looked at as one."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Attribute) and chain(tree)):
            yield from _walk(node)


def _check_node(node: ast.AST, names: Collection[str], modules: Collection[str]) -> None:
    line = getattr(node, "lineno", 0)
    if not isinstance(node, (*STATEMENTS, *EXPRESSIONS, *PARTS)):
        raise Unliftable(f"a kernel has no {type(node).__name__.lower()}", line)
    match node:
        case ast.Name(id=name, ctx=ast.Store()) if name in modules:
            raise Unliftable(f"{name}: {NO_VARIABLE}", line)
        case ast.Name(id=name):
            _check_name(name, names, line)
        case ast.Attribute():
            _check_attribute(node, names, modules)
        case ast.Call(func=called):
            if not isinstance(called, ast.Name | ast.Attribute):
                raise Unliftable("a kernel calls functions by their names", line)
        case ast.keyword(arg=None):
            raise Unliftable("a kernel has no **kwargs", line)
        case ast.keyword(arg=str(name)) if name.startswith("_"):
            raise Unliftable(f"{name}: a name that Triton keeps for itself", line)
        case ast.Constant(value=bytes()):
            raise Unliftable("a kernel has no bytes", line)
        case _:
            pass


def _check_name(name: str, names: Collection[str], line: int) -> None:
    if name not in names or name.startswith("__"):
        what = "no number, no @triton.jit function of this file and nothing of tl"
        raise Unliftable(f"{name}: {what}", line)


def _check_attribute(node: ast.Attribute, names: Collection[str], modules: Collection[str]) -> None:
    path = chain(node)
    line = node.lineno
    if path:
        _check_name(path[0], names, line)
        if path[0] in modules:
            return  # resolved, and looked at, where it is known what Triton has
    for name in path[1:] or [node.attr]:
        if name not in ATTRIBUTES:
            raise Unliftable(f".{name}: a block has nothing of that name for a kernel", line)


def paths(function: ast.FunctionDef, modules: Collection[str]) -> Iterator[tuple[list[str], int]]:
    """Yield each name that leads on from a module, as its parts, and its line."""
    for node in _walk(function):
        if isinstance(node, ast.Attribute) and (path := chain(node)) and path[0] in modules:
            yield path, node.lineno
