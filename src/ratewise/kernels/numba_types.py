"""The bridge that lets compiled loops take a measure or a reward as an argument, and inline it.

numba compiles a loop once for each *type* of its arguments, and keys its disk cache by those types. So a measure
becomes its own numba type, named after its class and a digest of all code its methods can reach. The methods are
inlined at full speed, a second process finds the compiled loop on disk, and an edited method gives another digest,
hence another type, hence a new compilation: never a stale one.

The digest covers the fingerprint of the kernels too, because numba itself would miss an edit to a function that
a loop calls in another file.

A value of such a type is the dataclass's number fields as a C struct. Everything else about the class
(methods, class constants) is known when the loop is compiled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import types as python_types
from functools import cache
from numbers import Real
from typing import Any, ClassVar

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from ..measures import Measure
from ..rewards import Reward
from ._operations import fingerprint


class ScalarObjectType(types.Type):
    """The numba type of a frozen dataclass with number fields and pure scalar methods.

    Each Python class gets a subclass of this and one instance of it.
    """

    known: ClassVar[dict[str, ScalarObjectType]] = {}

    def __init__(self, name: str, cls: type):
        self.cls = cls
        self.fields = tuple(
            field.name for field in dataclasses.fields(cls) if field.metadata.get("compiled", True)
        )
        super().__init__(name=name)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # numba pickles types into the index of its cache, and another process must be able to read that
        # index without importing this user's module: so a type is pickled by its name alone.
        return _known_type, (self.name,)


class _ForeignType(types.Type):  # type: ignore[misc]
    """Stands for a class this process has not met, so that its place in the cache index is kept."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _known_type, (self.name,)


def _known_type(name: str) -> types.Type:
    return ScalarObjectType.known.get(name) or _ForeignType(name)


@typeof_impl.register(Measure)
@typeof_impl.register(Reward)
def _typeof_scalar_object(value: Any, context: Any) -> ScalarObjectType:
    return _numba_type(type(value))  # type: ignore[arg-type]


@cache
def _numba_type(cls: type) -> ScalarObjectType:
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError(
            f"{cls.__qualname__} must be a frozen dataclass (@dataclass(frozen=True)) to be used in a compiled "
            "loop."
        )
    type_class = type(f"{cls.__qualname__}Type", (ScalarObjectType,), {})
    register_model(type_class)(_ScalarObjectModel)
    for name, method in _methods(cls).items():
        _make_callable(type_class, name, method)
    numba_type: ScalarObjectType = type_class(f"{cls.__module__}.{cls.__qualname__}[{_digest(cls)}]", cls)
    ScalarObjectType.known[numba_type.name] = numba_type
    return numba_type


class _ScalarObjectModel(models.StructModel):
    def __init__(self, manager: Any, numba_type: ScalarObjectType):
        super().__init__(manager, numba_type, [(field, types.float64) for field in numba_type.fields])


def _make_callable(type_class: type, name: str, method: python_types.FunctionType) -> None:
    """Let compiled code call this method on values of this type."""

    def implementation(*args: Any, **kwargs: Any) -> python_types.FunctionType:
        return method

    implementation.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    overload_method(type_class, name, strict=False)(implementation)


@unbox(ScalarObjectType)
def _unbox(numba_type: ScalarObjectType, value: Any, c: Any) -> NativeValue:
    struct = cgutils.create_struct_proxy(numba_type)(c.context, c.builder)
    for field in numba_type.fields:
        attribute = c.pyapi.object_getattr_string(value, field)
        as_float = c.pyapi.number_float(attribute)
        setattr(struct, field, c.pyapi.float_as_double(as_float))
        c.pyapi.decref(as_float)
        c.pyapi.decref(attribute)
    failed = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    return NativeValue(struct._getvalue(), is_error=failed)


@infer_getattr
class _ScalarObjectAttributes(AttributeTemplate):
    key = ScalarObjectType

    def generic_resolve(self, numba_type: ScalarObjectType, attribute: str) -> types.Type | None:
        if attribute in numba_type.fields:
            return types.float64
        constant = getattr(numba_type.cls, attribute, None)
        if isinstance(constant, bool):
            return types.boolean
        return types.float64 if isinstance(constant, Real) else None


@lower_getattr_generic(ScalarObjectType)
def _lower_attribute(context: Any, builder: Any, numba_type: ScalarObjectType, value: Any, name: str) -> Any:
    if name in numba_type.fields:
        return getattr(cgutils.create_struct_proxy(numba_type)(context, builder, value=value), name)
    constant = getattr(numba_type.cls, name)
    if isinstance(constant, bool):
        return context.get_constant(types.boolean, constant)
    return context.get_constant(types.float64, float(constant))


def _methods(cls: type) -> dict[str, python_types.FunctionType]:
    """Return the plain methods of a class, inherited ones included, up to the measure and reward base classes."""
    return {
        name: member
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, python_types.FunctionType) and not name.startswith("__")
    }


def _digest(cls: type) -> str:
    """Return a name for what a class does in compiled code: equal exactly if nothing it can reach changed."""
    seen: set[int] = set()
    parts: list[Any] = [fingerprint()]
    for name, method in sorted(_methods(cls).items()):
        parts.append((name, _describe(method, seen)))
    for name in sorted(dir(cls)):
        constant = getattr(cls, name, None)
        if isinstance(constant, Real):
            parts.append((name, repr(constant)))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _describe(thing: Any, seen: set[int]) -> Any:
    """Return what compiled code makes of a value that a method refers to, as nested tuples with a stable repr."""
    thing = getattr(thing, "py_func", thing)  # of a numba-compiled helper, its Python function
    if isinstance(thing, python_types.FunctionType):
        if id(thing) in seen:
            return thing.__qualname__
        seen.add(id(thing))
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        reached = [thing.__globals__[name] for name in _global_names(thing.__code__) if name in thing.__globals__]
        return (
            _describe_code(thing.__code__),
            repr(thing.__defaults__),
            [_describe(value, seen) for value in cells + reached],
        )
    if isinstance(thing, (Real, str, bytes, tuple, type(None))):
        return repr(thing)
    if isinstance(thing, python_types.ModuleType):
        return (thing.__name__, getattr(thing, "__version__", ""))
    if hasattr(thing, "tobytes"):  # a numpy array of constants
        return (str(getattr(thing, "dtype", "")), getattr(thing, "shape", ()), thing.tobytes())
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def _global_names(code: python_types.CodeType) -> list[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names.update(_global_names(constant))
    return sorted(names)


def _describe_code(code: python_types.CodeType) -> tuple[Any, ...]:
    constants = [
        _describe_code(constant) if isinstance(constant, python_types.CodeType) else _stable(constant)
        for constant in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, constants


def _stable(constant: Any) -> str:
    """Return the repr, sorted for sets, whose order changes from process to process."""
    if isinstance(constant, frozenset):
        return repr(sorted(map(repr, constant)))
    return repr(constant)
