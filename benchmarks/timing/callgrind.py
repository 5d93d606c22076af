"""Telling valgrind's callgrind, from inside a process that it runs, when to count.

A program speaks to valgrind by a sequence of instructions that does nothing on a bare processor: four rotations of
a register by 128 bits in all, and an exchange of a register with itself, with the address of the request in
another register. (Valgrind's manual, "The Client Request mechanism"; numbers from its valgrind.h and callgrind.h.)
"""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Callable
from typing import Any

_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = (ord("C") << 24) + (ord("T") << 16)
_ZERO_STATS, _DUMP_STATS_AT, _START_INSTRUMENTATION = _CALLGRIND + 1, _CALLGRIND + 3, _CALLGRIND + 4

# mov rax, rdi; xor edx, edx; rol rdi, 3; rol rdi, 13; rol rdi, 61; rol rdi, 51; xchg rbx, rbx; mov rax, rdx; ret
_INSTRUCTIONS = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")


class Callgrind:
    """The tool that runs this process; ``running`` is False where none does, and then requests do nothing."""

    def __init__(self) -> None:
        if platform.machine() not in ("x86_64", "AMD64"):
            raise SystemExit(f"Instructions are counted on x86-64 only; this is {platform.machine()}.")
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(_INSTRUCTIONS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._ask = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self.running = bool(self._request(_RUNNING_ON_VALGRIND))
        self._request(_START_INSTRUMENTATION)

    def count(self, label: str, work: Callable[[], Any]) -> None:
        """Have the instructions of one call written to a file that bears the label."""
        self._request(_ZERO_STATS)
        work()
        self._request(_DUMP_STATS_AT, label)

    def _request(self, number: int, text: str | None = None) -> int:
        encoded = ctypes.c_char_p(text.encode()) if text else ctypes.c_char_p()
        address = ctypes.cast(encoded, ctypes.c_void_p).value or 0
        words = (ctypes.c_uint64 * 6)(number, address)
        return int(self._ask(ctypes.addressof(words)))
