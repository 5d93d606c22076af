"""A fit in progress as plain data: JSON and numpy arrays, from which no code runs.

Objects are stored as the name of their class and their attributes. Only classes of a few modules are created when
data are read: the library's measures, solvers and training runs, and the modules that define the user's own
measure or solver, which the fit has already imported. Values that cannot be plain data, such as the function of a
``FunctionMeasure``, are not stored; they come from the settings of the resumed fit.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_PACKAGES = (
    "counts",
    "decisions",
    "features",
    "kernels",
    "measures",
    "rewards",
    "solvers",
    "training",
    "transforms",
)
_LIBRARY = __name__.partition(".")[0]
_PLAIN = (bool, int, float, str, type(None))
_TYPES = {"tuple": tuple, "ndarray": np.ndarray, "float32": np.float32, "float64": np.float64}
_GENERATORS = {"PCG64": np.random.PCG64}


class Packed(NamedTuple):
    """Plain data: a tree that JSON can hold, and the arrays it refers to by number."""

    tree: Any
    arrays: list[NDArray[Any]]


class Known:
    """The classes that plain data may name, and the objects of the settings that plain data may refer to.

    Parameters
    ----------
    settings : object
        The settings of the fit: a dataclass, perhaps with the user's own measure or solver.
    more : sequence of classes
        Other classes that may be created.
    """

    def __init__(self, settings: Any = None, more: Sequence[type] = ()):
        self.given: dict[str, Any] = {}
        self._classes: dict[str, type] = {_name(kind): kind for kind in more}
        for path, value in _parts(settings, "settings"):
            if dataclasses.is_dataclass(value):
                self._classes[_name(type(value))] = type(value)
            elif not isinstance(value, _PLAIN):
                self.given[path] = value
        self._modules = {found.__module__ for found in self._classes.values() if found not in more}

    def path_of(self, value: Any) -> str | None:
        """Return the path of this object in the settings; None if they do not contain it."""
        return next((path for path, own in self.given.items() if own is value), None)

    def find(self, name: str) -> type:
        """Return the class of this name; nothing is imported."""
        if name in self._classes:
            return self._classes[name]
        module, _, qualified = name.partition(":")
        library, _, rest = module.partition(".")
        package = rest.partition(".")[0]
        if module in self._modules or (library == _LIBRARY and package in _PACKAGES):
            found: Any = sys.modules.get(module)
            for part in qualified.split("."):
                found = getattr(found, part, None)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise TypeError(f"{name.replace(':', '.')} cannot be kept in a checkpoint")


def pack(value: Any, known: Known | None = None) -> Packed:
    """Return a value as plain data; raise a TypeError that names a part that cannot be plain data."""
    packer = _Packer(known or Known())
    return Packed(packer.packed(value), packer.arrays)


def unpack(packed: Packed, known: Known | None = None) -> Any:
    """Return the value that was packed; references to one object refer to one object again."""
    return _Unpacker(known or Known(), packed.arrays).unpacked(packed.tree)


def digest(value: Any) -> str:
    """Return a short digest of plain values and arrays."""
    found = pack(value)
    hashed = hashlib.sha256(json.dumps(found.tree).encode())
    for array in found.arrays:
        hashed.update(f"{array.dtype}{array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()[:16]


def described(value: Any) -> str:
    """Return settings as text: equal settings give equal text. The user's classes and functions appear as their
    code.
    """
    if isinstance(value, FunctionType):
        return f"{value.__module__}.{value.__qualname__}[{_code_digest(value.__code__)}]"
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return repr(value.item() if isinstance(value, np.generic) else value)
    fields = (f"{field.name}={described(getattr(value, field.name))}" for field in dataclasses.fields(value))
    kind = type(value)
    own = "" if kind.__module__.partition(".")[0] == _LIBRARY else f"[{_code_of_class(kind)}]"
    return f"{kind.__name__}{own}({', '.join(fields)})"


def dtype_to_json(dtype: np.dtype[Any]) -> Any:
    if dtype.hasobject:
        raise TypeError("an array of Python objects cannot be kept in a checkpoint")
    if dtype.fields is None:
        return dtype.str
    fields = [[name, kind.str, offset] for name, (kind, offset, *_) in dtype.fields.items()]
    return {"fields": fields, "itemsize": dtype.itemsize}


def dtype_from_json(found: Any) -> np.dtype[Any]:
    if isinstance(found, str):
        dtype = np.dtype(found)
    else:
        names, formats, offsets = zip(*found["fields"], strict=True)
        spec = {"names": names, "formats": formats, "offsets": offsets, "itemsize": found["itemsize"]}
        dtype = np.dtype(spec)  # type: ignore[call-overload]
    if dtype.hasobject:
        raise TypeError("an array of Python objects is not plain data")
    return dtype


class _Packer:
    def __init__(self, known: Known):
        self.arrays: list[NDArray[Any]] = []
        self._known = known
        self._seen: dict[int, tuple[int, Any]] = {}  # keep the objects, so that no other object gets their id

    def packed(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        if (path := self._known.path_of(value)) is not None:
            return ["given", path]
        if isinstance(value, tuple):
            items = [self.packed(one) for one in value]
            return ["tuple", items] if type(value) is tuple else ["named", self._class(value), items]
        if isinstance(value, np.generic):
            return ["number", self._array(np.asarray(value))]
        if isinstance(value, np.dtype):
            return ["dtype", dtype_to_json(value)]
        if isinstance(value, type):
            return [
                "type",
                next((name for name, one in _TYPES.items() if one is value), None) or self._refuse(value),
            ]
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)][0]]
        self._seen[id(value)] = (len(self._seen), value)
        return self._packed_object(value)

    def _packed_object(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return ["array", self._array(np.asarray(value))]
        if isinstance(value, list):
            return ["list", [self.packed(one) for one in value]]
        if isinstance(value, dict):
            return ["dict", [[self.packed(key), self.packed(one)] for key, one in value.items()]]
        if sparse.issparse(value) and value.format == "csr":
            parts = [self.packed(part) for part in (value.data, value.indices, value.indptr)]
            return ["csr", isinstance(value, sparse.sparray), list(map(int, value.shape)), parts]
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            if state["bit_generator"] not in _GENERATORS:
                self._refuse(value)
            return ["generator", state]
        state = value.__getstate__() or {}  # None for an object without attributes
        if not isinstance(state, dict):
            self._refuse(value)
        return ["object", self._class(value), self.packed(state)]

    def _array(self, array: NDArray[Any]) -> int:
        dtype_to_json(array.dtype)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _class(self, value: Any) -> str:
        name = _name(type(value))
        if self._known.find(name) is not type(value):
            self._refuse(value)
        return name

    def _refuse(self, value: Any) -> Any:
        raise TypeError(f"{value!r} cannot be kept in a checkpoint")


class _Unpacker:
    def __init__(self, known: Known, arrays: list[NDArray[Any]]):
        self._known, self._arrays = known, arrays
        self._seen: list[Any] = []

    def unpacked(self, tree: Any) -> Any:
        if type(tree) in _PLAIN:
            return tree
        match tree:
            case ["given", path]:
                return self._known.given[path]
            case ["tuple", items]:
                return tuple(self.unpacked(one) for one in items)
            case ["named", name, items]:
                return self._known.find(name)(*(self.unpacked(one) for one in items))
            case ["number", number]:
                return self._arrays[number][()]
            case ["dtype", found]:
                return dtype_from_json(found)
            case ["type", name]:
                return _TYPES[name]
            case ["seen", number]:
                return self._seen[number]
        place = len(self._seen)
        self._seen.append(None)
        self._seen[place] = made = self._made(tree, place)
        return made

    def _made(self, tree: Any, place: int) -> Any:
        match tree:
            case ["array", number]:
                return self._arrays[number]
            case ["list", items]:
                return [self.unpacked(one) for one in items]
            case ["dict", items]:
                return {self.unpacked(key): self.unpacked(value) for key, value in items}
            case ["csr", new, shape, parts]:
                kind = sparse.csr_array if new else sparse.csr_matrix
                return kind(tuple(self.unpacked(part) for part in parts), shape=tuple(shape))
            case ["generator", state]:
                bits = _GENERATORS[state["bit_generator"]]()
                bits.state = state
                return np.random.Generator(bits)
            case ["object", name, state]:
                kind_of = self._known.find(name)
                made: Any = object.__new__(kind_of)
                self._seen[place] = made  # before its attributes, which may refer to it
                attributes = self.unpacked(state)
                if hasattr(made, "__setstate__"):
                    made.__setstate__(attributes)
                else:
                    made.__dict__.update(attributes)
                return made
        raise ValueError("no plain data")


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a value and, if it is a dataclass, all the values in it."""
    yield path, value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name, inner in vars(value).items():
            yield from _parts(inner, f"{path}.{name}")


def _code_of_class(kind: type) -> str:
    functions = [(name, one) for name, one in sorted(vars(kind).items()) if isinstance(one, FunctionType)]
    codes = "".join(f"{name}{_code_digest(one.__code__)}" for name, one in functions)
    return hashlib.sha256(codes.encode()).hexdigest()[:8]


def _code_digest(code: CodeType) -> str:
    constants = [_code_digest(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    parts = (code.co_code, code.co_names, code.co_varnames, constants)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
