"""A launch in words: what its picture says to a person who cannot see it, and to a terminal."""

import itertools
import math
from collections.abc import Iterator, Sequence

from grader.text import visible_line
from grader.trace.record import HIDDEN, Fault, Launch, Step, Touchable, Trace

MOST_LISTED = 4  # elements that form no slice
MOST_PROGRAMS = 6  # in a summary
MOST_STEPS = 12  # of a program, in a summary
VERBS = {"load": "loads", "store": "stores", "atomic_cas": "compares and exchanges"}


def program_name(program: Sequence[int]) -> str:
    """Return the ids of a program as ``tl.program_id`` gives them."""
    return str(program[0]) if len(program) == 1 else f"({', '.join(map(str, program))})"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def call_of(launch: Launch) -> str:
    """Return the launch as it stands in the code: ``halve[(3,)]``."""
    axes = ", ".join(map(str, launch.grid)) + ("," if len(launch.grid) == 1 else "")
    return f"{visible_line(launch.kernel, 60)}[({axes})]"


def arguments_of(launch: Launch) -> str:
    """Return the arguments that are no tensors."""
    return ", ".join(
        f"{visible_line(name, 40)} = {visible_line(value, 60)}" for name, value in launch.arguments
    )


def tensor_of(tensor: Touchable) -> str:
    """Return the form of a tensor."""
    shape, strides = (", ".join(map(str, sizes)) for sizes in (tensor.shape, tensor.strides))
    return f"{visible_line(tensor.name, 40)} [{shape}] {tensor.dtype}, strides ({strides})"


def elements_in_words(tensor: Touchable, elements: Sequence[int]) -> str:
    """Name elements as a slice, x[0:2, 0:4], or one by one where they form none."""
    if not elements:
        return ""
    indices = [tensor.index(element) for element in elements]
    axes = [sorted(set(axis)) for axis in zip(*indices, strict=True)]
    slices = [_slice(axis) for axis in axes]
    name = visible_line(tensor.name, 40)
    if math.prod(map(len, axes)) == len(elements) and all(slices):
        return f"{name}[{', '.join(slices)}]" if slices else name
    listed = [f"{name}[{', '.join(map(str, index))}]" for index in indices[:MOST_LISTED]]
    rest = len(indices) - len(listed)
    return ", ".join(listed) + (f" and {rest:,} more" if rest else "")


def _slice(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return str(first)
    step = numbers[1] - first
    if any(b - a != step for a, b in itertools.pairwise(numbers)):
        return ""
    return f"{first}:{last + 1}" + (f":{step}" if step > 1 else "")


def step_in_words(launch: Launch, step: Step) -> str:
    """Say what an access touches, and which lanes it does not use."""
    verb = VERBS.get(step.kind, f"does {step.kind} on")
    lanes = counted(step.count, "lane")
    if len(step.shape) > 1:
        lanes = f"{' x '.join(map(str, step.shape))} lanes"
    notes = [lanes]
    if step.hidden:
        notes.append(
            "all hidden by the mask"
            if step.hidden == step.count
            else f"{step.hidden:,} hidden by the mask"
        )
    if step.outside:
        notes.append(f"{step.outside:,} outside of every tensor")
    if step.tensor is None:
        return f"{verb} nothing ({', '.join(notes)})"
    tensor = launch.tensors[step.tensor]
    found = step.elements
    if not found:
        return f"{verb} nothing of {visible_line(tensor.name, 40)} ({', '.join(notes)})"
    seen = sum(lane != HIDDEN for lane in step.lanes)
    if (rest := step.count - step.hidden - seen) > 0:
        notes.append(f"{rest:,} more lanes are not told")
    if len(found) not in (1, step.count):
        notes.insert(0, counted(len(found), "element"))
    return f"{verb} {elements_in_words(tensor, found)} ({', '.join(notes)})"


def line_of(step: Step) -> str:
    """Name the line of an access, and the line of a function that it calls."""
    return f"line {step.line}" + (f" (by line {step.inner})" if step.inner != step.line else "")


def fault_in_words(fault: Fault) -> str:
    """Say what the code raised, and where."""
    places = [f"line {fault.line}"] if fault.line else []
    if fault.program:
        places.append(f"program {program_name(fault.program)}")
    where = ", ".join(places) + ": " if places else ""
    return f"{where}{visible_line(fault.kind, 60)}: {visible_line(fault.message, 300)}"


def programs_in_words(launch: Launch) -> str:
    """Say how many programs the grid has, and how many of them touched memory."""
    total, seen = math.prod(launch.grid), len(launch.programs)
    axes = f" on {len(launch.grid)} axes" if len(launch.grid) > 1 else ""
    touching = "" if seen == total else f", {seen:,} of which touch memory"
    return f"{counted(total, 'program')}{axes}{touching}"


def alternative(launch: Launch, fault: Fault | None = None) -> str:
    """Return the text of a picture: grid, tensors, and what the first programs touch."""
    parts = [f"Launch {call_of(launch)}: {programs_in_words(launch)}."]
    for program in launch.programs[:MOST_PROGRAMS]:
        own = [step for step in launch.steps if step.program == program]
        told = [f"{line_of(step)} {step_in_words(launch, step)}" for step in own[:MOST_STEPS]]
        if len(own) > MOST_STEPS:
            told.append(f"and {len(own) - MOST_STEPS:,} more accesses")
        parts.append(f"Program {program_name(program)}: {'; '.join(told)}.")
    if (rest := len(launch.programs) - MOST_PROGRAMS) > 0:
        parts.append(f"{counted(rest, 'more program')} likewise.")
    if fault is not None:
        parts.append(f"It ends with an error: {fault_in_words(fault)}.")
    return " ".join(parts)


def summary(trace: Trace) -> Iterator[str]:
    """Yield the lines that a terminal shows."""
    for number, launch in enumerate(trace.launches, 1):
        yield f"launch {number}: {call_of(launch)}, {programs_in_words(launch)}"
        if launch.arguments:
            yield f"  {arguments_of(launch)}"
        for tensor in launch.tensors:
            yield f"  {tensor_of(tensor)}"
        for program in launch.programs[:MOST_PROGRAMS]:
            yield f"  program {program_name(program)}"
            own = [step for step in launch.steps if step.program == program]
            for step in own[:MOST_STEPS]:
                yield f"    {line_of(step)}: {step_in_words(launch, step)}"
            if len(own) > MOST_STEPS:
                yield f"    … {len(own) - MOST_STEPS:,} more accesses"
        if (rest := len(launch.programs) - MOST_PROGRAMS) > 0:
            yield f"  … {counted(rest, 'more program')}"
        if launch.more:
            yield f"  … {launch.more:,} accesses more were not recorded"
    if trace.more:
        yield f"… {trace.more:,} launches more"
    if trace.fault is not None:
        yield f"error: {fault_in_words(trace.fault)}"
