"""The wording of everything that can go wrong in a run, one function for each code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from tempoc.runtime.messages.problem import Problem


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A help text naming the closest known name, if one is close."""
    names = list(candidates)
    matches = [n for n in names if n.lower() == name.lower()] or get_close_matches(name, names, n=1)
    return f"did you mean {matches[0]}?" if matches else None


def listed(items: Sequence[str], limit: int = 8) -> str:
    """``a, b, c``, cut with ``and 12 more``."""
    shown = ", ".join(items[:limit])
    return shown + (f" and {len(items) - limit} more" if len(items) > limit else "")


def axes(shape: Iterable[int]) -> str:
    """A shape in brackets."""
    return f"[{', '.join(map(str, shape))}]"


# ------------------------------------------------------------------ the program


def no_program(directory: str, missing: str, exists: bool) -> Problem:
    """The directory is none that the compiler wrote."""
    reason = f"there is no {missing} in it" if exists else "there is no such directory"
    return Problem(
        code="RT501",
        message=f"{directory} is not a compiled program: {reason}",
        help=f"compile one with tempoc compile model.rt -o {directory}",
    )


def damaged_program(path: str, reason: str) -> Problem:
    """``program.json`` cannot be read."""
    return Problem(code="RT502", message=f"{path} is damaged or of another version: {reason}")


def changed_file(path: str) -> Problem:
    """A file of the compiled program is not the one that was written."""
    return Problem(
        code="RT503",
        message=f"{path} is not the file that the compiler wrote (its hash differs)",
        help="compile the program again",
    )


def bad_kernels(path: str, reason: str) -> Problem:
    """``kernels.py`` does not define what the program needs."""
    return Problem(code="RT504", message=f"{path} cannot be used: {reason}")


# ------------------------------------------------------------------ bounds


def missing_bound(name: str, sources: Sequence[str]) -> Problem:
    """Nobody says how large a bound is."""
    note = (f"it would also follow from {listed(sources)}",) if sources else ()
    return Problem(
        code="RT510",
        message=f"the bound {name} is not given",
        notes=note,
        help=f"add --bounds {name}=...",
    )


def unknown_bound(name: str, known: Sequence[str]) -> Problem:
    """A value for something that is no bound."""
    return Problem(
        code="RT511",
        message=f"the program has no bound {name}",
        notes=(f"its bounds are {listed(known)}" if known else "it has no bounds",),
        help=did_you_mean(name, known),
    )


def settled_bound(name: str, value: str, fixed: bool) -> Problem:
    """A value for a bound that has one."""
    how = f"fixed to {value}" if fixed else f"derived: {name} = {value}"
    return Problem(
        code="RT512",
        message=f"the bound {name} cannot be given, it is {how}",
        help=f"compile with -D {name}=... for another value" if fixed else f"leave {name} out",
    )


def bad_bound(name: str, value: object) -> Problem:
    """Not an integer of at least 1."""
    return Problem(
        code="RT513",
        message=f"the bound {name} must be an integer >= 1 and below 2**31, not {value}",
    )


def bound_clash(name: str, claims: Sequence[tuple[int, str]]) -> Problem:
    """Two sources disagree about a bound."""
    values = " but ".join(f"{value} by {source}" for value, source in claims)
    return Problem(code="RT514", message=f"the bound {name} is {values}")


def small_bound(name: str, formula: str, value: int, *notes: str) -> Problem:
    """A derived bound comes out below 1."""
    message = f"the derived bound {name} = {formula} is {value}, it must be >= 1"
    return Problem(code="RT515", message=message, notes=notes)


def violated(text: str, values: str, where: str) -> Problem:
    """The bounds break an assumption of the program."""
    return Problem(
        code="RT516",
        message=f"the assumption {text} does not hold for {values}",
        notes=(f"assumed at {where}",) if where else (),
        help="choose other bounds",
    )


def violated_at_end(text: str, values: str, end: str) -> Problem:
    """A length breaks an assumption of the program."""
    return Problem(
        code="RT517",
        message=f"the assumption {text} does not hold for {values}",
        notes=(end,),
    )


# ------------------------------------------------------------------ inputs and params


def missing_input(name: str, title: str, type_text: str, offered: Sequence[str]) -> Problem:
    """No data for an input."""
    notes = (f"the files given hold {listed(offered)}",) if offered else ()
    return Problem(
        code="RT520",
        message=f"the input {title}: {type_text} is not given",
        notes=notes,
        help=did_you_mean(name, offered) or f"add --input {name}=FILE",
    )


def unknown_input(name: str, known: Sequence[str]) -> Problem:
    """Data for something that is no input."""
    return Problem(
        code="RT521",
        message=f"the program has no input {name}",
        notes=(f"its inputs are {listed(known)}" if known else "it has no inputs",),
        help=did_you_mean(name, known),
    )


def wrong_dtype(subject: str, actual: str, expected: str, origin: str, castable: bool) -> Problem:
    """The element types differ and nothing is cast."""
    return Problem(
        code="RT522",
        message=f"{subject} is {actual}, the program wants {expected}",
        notes=(f"read from {origin}",) if origin else (),
        help="--cast-params converts it, and may change values" if castable else
        "this is not cast; convert the data",
    )  # fmt: skip


def wrong_rank(
    subject: str, actual: Sequence[int], expected: Sequence[str], origin: str
) -> Problem:
    """The numbers of axes differ."""
    return Problem(
        code="RT523",
        message=f"{subject} has shape {axes(actual)} ({_count(len(actual))}), "
        f"the program wants [{', '.join(expected)}] ({_count(len(expected))})",
        notes=(f"read from {origin}",) if origin else (),
    )


def _count(n: int) -> str:
    return "1 axis" if n == 1 else f"{n} axes"


def wrong_size(
    subject: str, axis: int, actual: int, expected: str, shape: Sequence[int], origin: str
) -> Problem:
    """An axis has another size; ``expected`` is a number with its formula if it has one."""
    notes = (f"the shape is {axes(shape)}" + (f", read from {origin}" if origin else ""),)
    return Problem(
        code="RT524",
        message=f"axis {axis} of {subject} is {actual}, the program wants {expected}",
        notes=notes,
    )


def missing_param(
    name: str, tensors: Sequence[str], offered: Sequence[str], origin: str
) -> Problem:
    """No file holds the weights of a param that has no default."""
    subject = (
        f"the param {name}" if list(tensors) == [name] else f"{listed(tensors, 3)} (param {name})"
    )
    if not offered and not origin:
        return Problem(
            code="RT530", message=f"{subject} has no value", help="add --params FILE.safetensors"
        )
    return Problem(
        code="RT530",
        message=f"{subject} is not in {origin or 'the params given'}",
        notes=(f"given are {listed(offered)}",) if offered else (),
        help=did_you_mean(tensors[0], offered),
    )


# ------------------------------------------------------------------ files


def no_file(path: str) -> Problem:
    """The file does not exist."""
    return Problem(code="RT540", message=f"there is no file {path}")


def unreadable(path: str, reason: str) -> Problem:
    """The file is truncated, damaged or of another kind."""
    return Problem(code="RT541", message=f"{path} cannot be read: {reason}")


def unknown_suffix(path: str, known: Sequence[str], single: bool = False) -> Problem:
    """The suffix names no format; ``single``: one for a single tensor, where a name is needed."""
    return Problem(
        code="RT542",
        message=f"{path} does not end in {' or '.join(known)}",
        help=f"it holds one tensor without a name; an input takes it as --input NAME={path}"
        if single
        else None,
    )


def unwritable(path: str, reason: str) -> Problem:
    """The file cannot be written."""
    return Problem(code="RT543", message=f"{path} cannot be written: {reason}")


def not_in_file(name: str, path: str, offered: Sequence[str]) -> Problem:
    """A file of several tensors lacks the one asked for."""
    return Problem(
        code="RT544",
        message=f"{path} holds no tensor {name}",
        notes=(f"it holds {listed(offered)}" if offered else "it is empty",),
        help=did_you_mean(name, offered),
    )


def several_sources(name: str) -> Problem:
    """The same input in two files."""
    return Problem(code="RT545", message=f"the input {name} is given more than once")


def bad_seed(seed: int) -> Problem:
    """Seeds have 63 bits."""
    return Problem(code="RT525", message=f"a seed is a number from 0 to 2**63 - 1, not {seed}")


def several_files(name: str, first: str, second: str) -> Problem:
    """The same weights in two files."""
    return Problem(code="RT546", message=f"the tensor {name} is in {first} and in {second}")


# ------------------------------------------------------------------ while running


def check_failed(message: str, point: str, equations: Sequence[str]) -> Problem:
    """A check inside a kernel failed."""
    return Problem(
        code="RT550",
        message=message + (f" at {point}" if point else ""),
        notes=tuple(f"in {e}" for e in equations),
    )


def device_failed(reason: str) -> Problem:
    """Outside any kernel: the data does not fit, for example."""
    return Problem(
        code="RT553",
        message=f"the device gave up: {reason}",
        help="smaller bounds need less memory; tempoc explain --dump-memory shows how much",
    )


def kernel_failed(kernel: str, reason: str, equations: Sequence[str]) -> Problem:
    """The backend refused or died, for example for lack of memory."""
    return Problem(
        code="RT551",
        message=f"the kernel {kernel} failed: {reason}",
        notes=tuple(f"it computes {e}" for e in equations),
    )


def never_written(store: str, key: str) -> Problem:
    """A cell is read that nobody wrote: the program is wrong, not its data."""
    return Problem(
        code="RT552",
        message=f"the program reads {store}{key} before it is computed",
        help="this is a bug in the compiler, please report it with the program",
    )


# ------------------------------------------------------------------ Python functions


def no_module(extern: str, module: str, folders: Sequence[str]) -> Problem:
    """The module of an extern is nowhere."""
    looked = f"looked in {listed(folders)}, then where Python looks" if folders else ""
    return Problem(
        code="RT570",
        message=f"there is no Python module {module}, which {extern} is from",
        notes=(looked,) if looked else (),
        help="name the folder that it is in with --extern-path",
    )


def broken_module(extern: str, module: str, reason: str, trace: str) -> Problem:
    """The module of an extern raises when it is imported."""
    message = f"the Python module {module}, which {extern} is from, fails: {reason}"
    return Problem(code="RT571", message=message, notes=(trace,))


def two_modules(extern: str, module: str, files: Sequence[str]) -> Problem:
    """The folders of the program's files hold several modules of one name."""
    return Problem(
        code="RT575",
        message=f"there are two Python modules {module}, which {extern} is from",
        notes=(f"they are {' and '.join(files)}",),
        help="rename one of them, or name the folder of the right one with --extern-path",
    )


def other_module(extern: str, module: str, expected: str, loaded: str) -> Problem:
    """Python knows another module of this name already."""
    return Problem(
        code="RT576",
        message=f"another Python module {module} is in use, not the one that {extern} is from",
        notes=(f"wanted is {expected}, in use is {loaded}",),
        help="rename the module",
    )


def not_a_function(extern: str, module: str, function: str, kind: str) -> Problem:
    """What an extern names is something else."""
    return Problem(
        code="RT577",
        message=f"{function} of the Python module {module}, which is to be the extern {extern}, "
        f"is no function: it is of type {kind}",
    )


def no_function(extern: str, module: str, function: str, known: Sequence[str]) -> Problem:
    """The module of an extern lacks the function."""
    return Problem(
        code="RT572",
        message=f"the Python module {module} has no function {function} for the extern {extern}",
        help=did_you_mean(function.rpartition(".")[2], known),
    )


def extern_raised(
    extern: str, reason: str, trace: str, point: str, equations: Sequence[str]
) -> Problem:
    """An exception in an extern."""
    where = f" at {point}" if point else ""
    notes = tuple(f"in {e}" for e in equations)
    return Problem(code="RT573", message=f"{extern} raised {reason}{where}", notes=(*notes, trace))


def extern_broke(
    reason: str, point: str, equations: Sequence[str], help: str | None = None
) -> Problem:
    """An extern gives back something else than it promised."""
    where = f" at {point}" if point else ""
    notes = tuple(f"in {e}" for e in equations)
    return Problem(code="RT574", message=reason + where, notes=notes, help=help)


def saved_elsewhere(path: str) -> Problem:
    """A `save` would write a file that the command line wants for something else."""
    return Problem(
        code="RT555",
        message=f"{path} is saved, but the command line names it for something else",
        help="choose another --output-dir, or another file for the results",
    )


def saved_twice(path: str) -> Problem:
    """Two `save`s write one file."""
    return Problem(
        code="RT554",
        message=f"{path} is saved twice in one run",
        help="name the indices that tell the files apart in the path of `save`",
    )
