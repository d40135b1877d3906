"""``dataclass`` as in the standard library, whose methods are made when they are first called.

Making the methods of some hundred classes is a third of the time of ``tempoc check``, which calls
few of them. All but ``__init__`` are those of the standard library.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type[T] | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        **options: bool,
    ) -> type[T] | Callable[[type[T]], type[T]]:
        """A class with fields, as ``dataclasses.dataclass`` makes it, with the options used here.

        These are ``frozen``, ``slots``, ``kw_only``, ``eq`` and ``weakref_slot``.
        """
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, **options)
        own = dict(vars(cls))
        made = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
        late = ["__init__", "__repr__"]
        if eq:
            late.append("__eq__")
            if own.get("__hash__") is None:
                late += ["__hash__"] if frozen else []
                made.__hash__ = None
        for name in late:
            if own.get(name) is None:
                setattr(made, name, _late(made, name, frozen))
        if frozen:
            _freeze(made)
        return made


def _late(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    """A method that puts the real one in its place and calls it."""

    def method(self: object, *args: object, **named: object) -> object:
        real = _init(cls, frozen) if name == "__init__" else _method(cls, name)
        setattr(cls, name, real)
        return real(self, *args, **named)

    return method


def _method(cls: type, name: str) -> Callable[..., Any]:
    """The method that the standard library makes for a class with these fields."""
    model = dataclasses.make_dataclass(
        cls.__name__,
        [(f.name, f.type, f) for f in dataclasses.fields(cls)],
        init=False,
        repr=name == "__repr__",
        unsafe_hash=name == "__hash__",
    )
    method: Callable[..., Any] = vars(model)[name]
    return method


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    """A function that takes the values of all fields, as the standard library has it."""
    names: dict[str, Any] = {"_put_": object.__setattr__, "_missing_": dataclasses.MISSING}
    before, after, lines = ["self"], ["*"], []
    for f in dataclasses.fields(cls):
        value = f.name
        if f.default is not dataclasses.MISSING:
            value = f"_default_{f.name}_"
            names[value] = f.default
        elif f.default_factory is not dataclasses.MISSING:
            value = f"_make_{f.name}_()"
            names[f"_make_{f.name}_"] = f.default_factory
        if f.init:
            made = value.endswith(")")
            default = "" if value == f.name else "=_missing_" if made else f"={value}"
            (after if f.kw_only else before).append(f.name + default)
            value = f"{value} if {f.name} is _missing_ else {f.name}" if made else f.name
        elif value == f.name:
            continue
        lines.append(f"_put_(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    parameters = ", ".join(before + after if len(after) > 1 else before)
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _freeze(cls: type) -> None:
    """Let attributes be set by ``__init__`` alone, and when an object is copied."""
    names = frozenset(f.name for f in dataclasses.fields(cls))

    def refuse_set(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def refuse_delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    for name, method in (
        ("__setattr__", refuse_set),
        ("__delattr__", refuse_delete),
        ("__getstate__", _state),
        ("__setstate__", _restore),
    ):
        setattr(cls, name, method)


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
