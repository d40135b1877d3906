"""Last steps of which loops do less than those of the steps before: trees by hand."""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.last_steps import last_steps
from tempoc.codegen.steps.leaves import leaves
from tempoc.codegen.steps.matched_steps import matched_step
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic.parse import parse

STORES = ("x", "h", "g", "loss", "w")
CONTEXT = ProgramContext(
    stores={name: Buffer(name=name, dtype="f32", shape=(parse("65536"),)) for name in STORES},
    kernels={name: prog.Kernel(name=name, dims=("i", "t")) for name in ("f", "d", "m", "u")},
    bounds={"N": None, "T": None},
    x64=False,
)


def call(kernel: str, at: str, args: str, result: str) -> prog.Call:
    point = tuple(parse(e) for e in at.split())
    given = tuple(prog.Cell(store={"l": "loss"}.get(name, name)) for name in args)
    made = (prog.Cell(store={"l": "loss"}.get(result, result)),)
    return prog.Call(kernel=kernel, point=point, args=given, results=made)


def loop(var: str, upper: str, *items: prog.ProgramStatement) -> prog.Loop:
    body = prog.Sequence(items=items)
    return prog.Loop(
        var=var, lower=parse("0"), upper=parse(upper), step=1, body=body, place="device"
    )


def forward(i: str) -> prog.Call:
    return call("f", f"{i} t", "hw", "h")


def mean(i: str) -> prog.Call:
    return call("m", f"{i} 0", "h", "l")


def learning(*more: prog.ProgramStatement, after: str = "T") -> prog.Sequence:
    """Steps that learn by what inner steps make beside ``h``; the last one says how well."""
    inner = loop("t", "T", forward("i"), *more)
    steps = loop("i", "N-1", inner, mean("i"), call("u", "i 0", "gw", "w"))
    return prog.Sequence(items=(steps, loop("t", after, forward("N-1")), mean("N-1")))


GRADIENT = call("d", "i t", "gh", "g")


def rolled(tree: prog.Sequence, outputs: tuple[str, ...] = ("loss",)) -> prog.Loop | None:
    """The loop, if nothing stands behind it any more."""
    new = last_steps(tree, CONTEXT, outputs)
    assert isinstance(new, prog.Sequence)
    (steps, *behind) = new.items
    assert isinstance(steps, prog.Loop) and (not behind or new == tree)
    return None if behind else steps


def test_the_inner_loop_of_a_last_step_may_do_less() -> None:
    tree = learning(GRADIENT)
    steps = rolled(tree)
    assert steps is not None and steps.upper == parse("N")
    assert steps.body == tree.items[0].body  # type: ignore[union-attr]
    sometimes = prog.Guard(condition=parse("t >= 1"), body=GRADIENT)
    assert rolled(learning(sometimes)) is not None
    assert rolled(learning(GRADIENT, after="T-1")) is None, "fewer steps"


def test_what_an_inner_loop_does_too_much_is_not_read() -> None:
    overwritten = call("d", "i t", "gh", "h")
    assert rolled(learning(overwritten)) is None, "the next inner step reads it"
    assert rolled(learning(call("d", "i t", "gh", "l"))) is not None, "written again"
    assert rolled(learning(GRADIENT), outputs=("loss", "g")) is None, "read after the loop"
    assert rolled(learning(forward("i"))) is None, "which of two equal ones it is"


def test_what_an_inner_loop_checks_too_much_does_not_count() -> None:
    kernels = {**CONTEXT.kernels, "d": replace(CONTEXT.kernels["d"], checks=("index",))}
    new = last_steps(learning(GRADIENT), replace(CONTEXT, kernels=kernels), ("loss",))
    checked = replace(GRADIENT, where=parse("i < N-1"))
    inner = loop("t", "T", forward("i"), checked)
    steps = loop("i", "N", inner, mean("i"), call("u", "i 0", "gw", "w"))
    assert new == prog.Sequence(items=(steps,))


def test_what_is_only_done_in_other_steps_may_have_keys() -> None:
    """Layers with arrays of their own, in a loop that the last step has not at all."""
    stores = {**CONTEXT.stores, "w": replace(CONTEXT.stores["w"], keys=(Key(dim="t"),))}
    keyed = (prog.Cell(store="w", key=(parse("t"),)),)
    update = replace(call("u", "i t", "g", "w"), results=keyed)
    forward, mean = (
        replace(s, args=()) for s in (call("f", "i 0", "", "h"), call("m", "i 0", "h", "l"))
    )
    steps = loop("i", "N-1", forward, mean, replace(loop("t", "T", update), place="unrolled"))
    behind = [replace(s, point=tuple(parse(e) for e in ("N-1", "0"))) for s in (forward, mean)]
    tree = prog.Sequence(items=(steps, *behind))
    context = replace(CONTEXT, stores=stores, bounds={"N": None, "T": 3})
    unread = last_steps(tree, context, ("loss",))
    assert unread == prog.Sequence(items=(replace(steps, upper=parse("N")),))
    assert last_steps(tree, context, ("loss", "w")) == tree, "not computed element by element"
    kept = (prog.Cell(store="w", key=(parse("t"),), when=parse("i < N-1")),)
    inner = replace(loop("t", "T", replace(update, results=kept)), place="unrolled")
    body = prog.Sequence(items=(forward, mean, inner))
    new = last_steps(tree, context, ("loss", "w"), KernelKinds(light=("u",)))
    assert new == prog.Sequence(items=(replace(steps, upper=parse("N"), body=body),))


def test_of_what_follows_a_loop_no_more_is_looked_at_than_is_like_its_step() -> None:
    body = leaves(loop("i", "N", mean("i")).body, {"i": parse("N")}, ())
    behind = iter([leaf for s in (mean("N-1"), mean("N")) for leaf in leaves(s, {}, ())])
    assert not matched_step(body, behind, ()).matched
    assert [leaf.statement for leaf in behind] == [mean("N")]
