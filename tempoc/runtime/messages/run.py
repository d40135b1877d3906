"""The wording of everything that can go wrong in a run, one function for each code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow


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


def no_program(directory: str, missing: str, exists: bool) -> Diagnostic:
    """The directory is none that the compiler wrote."""
    reason = f"there is no {missing} in it" if exists else "there is no such directory"
    return error(
        "RT501",
        f"{directory} is not a compiled program: {reason}",
        help=f"compile one with tempoc compile model.rt -o {directory}",
    )


damaged_program = ErrorRow("RT502", "{path} is damaged or of another version: {reason}")
changed_file = ErrorRow(
    "RT503",
    "{path} is not the file that the compiler wrote (its hash differs)",
    "undo the change, or compile the program again into another directory",
)
bad_kernels = ErrorRow("RT504", "{path} cannot be used: {reason}")
AGAIN = "compile the program again; if that does not help, please report it with the program"
impossible_store = ErrorRow(
    "RT509", "with these bounds the store {name} would {what}", "choose other bounds, or " + AGAIN
)
out_of_range = ErrorRow(
    "RT560", "the program leaves its range: {name} would run at {dim} = {value}, of {size}", AGAIN
)
short_store = ErrorRow(
    "RT558",
    "the output {name} reads up to {end} of an axis of {extent} of the store {store}",
    AGAIN,
)
endless_loop = ErrorRow(
    "RT557", "the loop over {var} from {first} to {last} leaves what 32 bits hold", AGAIN
)


# ------------------------------------------------------------------ bounds


def missing_bound(name: str, sources: Sequence[str]) -> Diagnostic:
    """Nobody says how large a bound is."""
    note = (f"it would also follow from {listed(sources)}",) if sources else ()
    return error(
        "RT510", f"the bound {name} is not given", help=f"add --bounds {name}=...", notes=note
    )


def unknown_bound(name: str, known: Sequence[str]) -> Diagnostic:
    """A value for something that is no bound."""
    return error(
        "RT511",
        f"the program has no bound {name}",
        help=did_you_mean(name, known),
        notes=(f"its bounds are {listed(known)}" if known else "it has no bounds",),
    )


def settled_bound(name: str, value: str, fixed: bool) -> Diagnostic:
    """A value for a bound that has one."""
    how = f"fixed to {value}" if fixed else f"derived: {name} = {value}"
    return error(
        "RT512",
        f"the bound {name} cannot be given, it is {how}",
        help=f"compile with -D {name}=... for another value" if fixed else f"leave {name} out",
    )


bad_bound = ErrorRow(
    "RT513", "the bound {name} must be an integer >= 1 and below 2**31, not {value}"
)


def bound_clash(name: str, claims: Sequence[tuple[int, str]]) -> Diagnostic:
    """Two sources disagree about a bound."""
    values = " but ".join(f"{value} by {source}" for value, source in claims)
    return error("RT514", f"the bound {name} is {values}")


def small_bound(name: str, formula: str, value: int, *notes: str) -> Diagnostic:
    """A derived bound comes out below 1."""
    message = f"the derived bound {name} = {formula} is {value}, it must be >= 1"
    return error("RT515", message, notes=notes)


def violated(text: str, values: str, where: str) -> Diagnostic:
    """The bounds break an assumption of the program."""
    return error(
        "RT516",
        f"the assumption {text} does not hold for {values}",
        help="choose other bounds",
        notes=(f"assumed at {where}",) if where else (),
    )


violated_at_end = ErrorRow(
    "RT517", "the assumption {text} does not hold for {values}", note="{end}"
)


# ------------------------------------------------------------------ inputs and params


def missing_input(name: str, title: str, type_text: str, offered: Sequence[str]) -> Diagnostic:
    """No data for an input."""
    notes = (f"the files given hold {listed(offered)}",) if offered else ()
    return error(
        "RT520",
        f"the input {title}: {type_text} is not given",
        help=did_you_mean(name, offered) or f"add --input {name}=FILE",
        notes=notes,
    )


def unknown_input(name: str, known: Sequence[str]) -> Diagnostic:
    """Data for something that is no input."""
    return error(
        "RT521",
        f"the program has no input {name}",
        help=did_you_mean(name, known),
        notes=(f"its inputs are {listed(known)}" if known else "it has no inputs",),
    )


def wrong_dtype(
    subject: str, actual: str, expected: str, origin: str, castable: bool
) -> Diagnostic:
    """The element types differ and nothing is cast."""
    return error(
        "RT522",
        f"{subject} is {actual}, the program wants {expected}",
        help="--cast-params converts it, and may change values"
        if castable
        else "this is not cast; convert the data, in NumPy with `.astype(...)`",
        notes=(f"read from {origin}",) if origin else (),
    )


def wrong_rank(
    subject: str, actual: Sequence[int], expected: Sequence[str], origin: str
) -> Diagnostic:
    """The numbers of axes differ."""
    return error(
        "RT523",
        f"{subject} has shape {axes(actual)} ({_count(len(actual))}), "
        f"the program wants [{', '.join(expected)}] ({_count(len(expected))})",
        notes=(f"read from {origin}",) if origin else (),
    )


def _count(n: int) -> str:
    return "1 axis" if n == 1 else f"{n} axes"


def wrong_size(
    subject: str, axis: int, actual: int, expected: str, shape: Sequence[int], origin: str
) -> Diagnostic:
    """An axis has another size; ``expected`` is a number with its formula if it has one."""
    notes = (f"the shape is {axes(shape)}" + (f", read from {origin}" if origin else ""),)
    return error(
        "RT524", f"axis {axis} of {subject} is {actual}, the program wants {expected}", notes=notes
    )


def missing_param(
    name: str, tensors: Sequence[str], offered: Sequence[str], origin: str
) -> Diagnostic:
    """No file holds the weights of a param that has no default."""
    subject = (
        f"the param {name}" if list(tensors) == [name] else f"{listed(tensors, 3)} (param {name})"
    )
    if not offered and not origin:
        return error("RT530", f"{subject} has no value", help="add --params FILE.safetensors")
    return error(
        "RT530",
        f"{subject} is not in {origin or 'the params given'}",
        help=did_you_mean(tensors[0], offered),
        notes=(f"given are {listed(offered)}",) if offered else (),
    )


def defaults_used(tensors: Sequence[str], origin: str, others: Sequence[str]) -> str:
    """A line that says which params the program computes, as no file holds them.

    ``others`` are the tensors of a file of which no param has one: their names may be wrong.
    """
    verb, theirs = ("are", "their defaults") if len(tensors) > 1 else ("is", "the default")
    holds = f", which holds {listed(others, 3)}" if others else ""
    return f"note: {listed(tensors)} {verb} not in {origin}{holds}: {theirs} will be used\n"


def beyond_params(tensors: Sequence[str], origin: str) -> str:
    """A line that says which tensors would be those of further steps of params."""
    return f"note: {origin} goes on with {listed(tensors, 3)}, which the program does not read\n"


# ------------------------------------------------------------------ files


no_file = ErrorRow("RT540", "there is no file {path}")
unreadable = ErrorRow("RT541", "{path} cannot be read: {reason}")


def unknown_suffix(path: str, known: Sequence[str], single: bool = False) -> Diagnostic:
    """The suffix names no format; ``single``: one for a single tensor, where a name is needed."""
    return error(
        "RT542",
        f"{path} does not end in {' or '.join(known)}",
        help=f"it holds one tensor without a name; an input takes it as --input NAME={path}"
        if single
        else None,
    )


unwritable = ErrorRow("RT543", "{path} cannot be written: {reason}")


def not_in_file(name: str, path: str, offered: Sequence[str]) -> Diagnostic:
    """A file of several tensors lacks the one asked for."""
    return error(
        "RT544",
        f"{path} holds no tensor {name}",
        help=did_you_mean(name, offered),
        notes=(f"it holds {listed(offered)}" if offered else "it is empty",),
    )


several_sources = ErrorRow("RT545", "the input {name} is given more than once")
not_by_name = ErrorRow(
    "RT526", "each {what} is given by its name in a dict, not in an object of type {kind}"
)
no_name = ErrorRow("RT527", "the name of each {what} is a string, not {name}")
no_array = ErrorRow("RT528", "the {what} {name} is no array: {reason}")
traced = ErrorRow(
    "RT565",
    "a compiled program is called within a function that JAX traces, as jax.jit, grad and vmap do",
    help="call it outside of that function; what is differentiated or mapped over is written in "
    "the program, with grad and dimensions",
)
bad_seed = ErrorRow("RT525", "a seed is a number from 0 to 2**63 - 1, not {seed}")
several_files = ErrorRow("RT546", "the tensor {name} is in {first} and in {second}")


# ------------------------------------------------------------------ while running


def check_failed(message: str, point: str, equations: Sequence[str]) -> Diagnostic:
    """A check inside a kernel failed."""
    return error(
        "RT550",
        message + (f" at {point}" if point else ""),
        notes=tuple(f"in {e}" for e in equations),
    )


device_failed = ErrorRow(
    "RT553",
    "the device gave up: {reason}",
    "smaller bounds need less memory; tempoc explain --dump-memory shows how much",
)


def no_device(reason: str, platforms: str) -> Diagnostic:
    """JAX cannot begin; ``platforms`` is what the environment asks it for."""
    note = (f"JAX_PLATFORMS is {platforms}",) if platforms else ()
    help = "JAX_PLATFORMS=cpu runs on the CPU; unset, JAX takes the best device that there is"
    return error("RT556", f"there is no device to run on: {reason}", help=help, notes=note)


def kernel_failed(
    kernel: str, reason: str, equations: Sequence[str], help: str | None = None
) -> Diagnostic:
    """The backend refused or died, for example for lack of memory."""
    return error(
        "RT551",
        f"the kernel {kernel} failed: {reason}",
        help=help,
        notes=tuple(f"it computes {e}" for e in equations),
    )


never_written = ErrorRow(
    "RT552",
    "the program reads {store}{key} before it is computed",
    "this is a bug in the compiler, please report it with the program",
)


# ------------------------------------------------------------------ Python functions


def no_module(extern: str, module: str, folders: Sequence[str]) -> Diagnostic:
    """The module of an extern is nowhere."""
    looked = f"looked in {listed(folders)}, then where Python looks" if folders else ""
    return error(
        "RT570",
        f"there is no Python module {module}, which {extern} is from",
        help="name the folder that it is in with --extern-path or in PYTHONPATH",
        notes=(looked,) if looked else (),
    )


broken_module = ErrorRow(
    "RT571", "the Python module {module}, which {extern} is from, fails: {reason}", note="{trace}"
)


def two_modules(extern: str, module: str, files: Sequence[str]) -> Diagnostic:
    """The folders of the program's files hold several modules of one name."""
    return error(
        "RT575",
        f"there are two Python modules {module}, which {extern} is from",
        help="rename one of them, or name the folder of the right one with --extern-path",
        notes=(f"they are {' and '.join(files)}",),
    )


other_module = ErrorRow(
    "RT576",
    "another Python module {module} is in use, not the one that {extern} is from",
    "rename the module",
    "wanted is {expected}, in use is {loaded}",
)


not_a_function = ErrorRow(
    "RT577",
    "{function} of the Python module {module}, which is to be the extern {extern}, "
    "is no function: it is of type {kind}",
)


def no_function(extern: str, module: str, function: str, known: Sequence[str]) -> Diagnostic:
    """The module of an extern lacks the function."""
    return error(
        "RT572",
        f"the Python module {module} has no function {function} for the extern {extern}",
        help=did_you_mean(function.rpartition(".")[2], known),
    )


def extern_raised(
    extern: str, reason: str, trace: str, point: str, equations: Sequence[str]
) -> Diagnostic:
    """An exception in an extern."""
    where = f" at {point}" if point else ""
    notes = tuple(f"in {e}" for e in equations)
    return error("RT573", f"{extern} raised {reason}{where}", notes=(*notes, trace))


def extern_broke(reason: str, point: str, equations: Sequence[str], help: str | None) -> Diagnostic:
    """An extern gives back something else than it promised."""
    where = f" at {point}" if point else ""
    notes = tuple(f"in {e}" for e in equations)
    return error("RT574", reason + where, help=help, notes=notes)


reentered = ErrorRow(
    "RT559",
    "the program is called by a Python function that it calls",
    "prepare another one for that with `ready`",
)
saved_elsewhere = ErrorRow(
    "RT555",
    "{path} is saved, but the command line names it for something else",
    "choose another --output-dir, or another file for the results",
)
named_twice = ErrorRow("RT547", "{first} and {second} would write the same file {path}")
saved_twice = ErrorRow(
    "RT554",
    "{path} is saved twice in one run",
    "name the indices that tell the files apart in the path of `save`",
)
