"""Results that threads and sessions share: computed once, the last ones kept, and never changed.

Whatever depends on a model must have the model's digest in its key (see ``core.pipeline.remembered``).
``functools.cache`` is still right for what never changes while the program runs and may be computed twice: the
program's own files, a font's characters.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, wait
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_memories: list[Memory] = []


class Memory:
    """The last ``maxsize`` results by key; the least recently used is dropped first.

    The first thread to request a key computes its result. Others that request it meanwhile wait for it, or for
    the exception, which is not kept. Nothing is locked during a computation: other keys are not delayed, and a
    computation may request them. An interruption of the first thread alone (its reader has left the page) is not
    passed on: one of the waiting threads starts again.

    All arrays in a result are read-only, so that no reader changes what another sees; to write, copy them. Nothing
    else in a result may be changed either.
    """

    def __init__(self, maxsize: int):
        self.maxsize = maxsize
        self._lock, self._kept = threading.Lock(), OrderedDict[Hashable, _Pending]()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``, from now or from an earlier call; ``key`` holds all that it depends on."""
        while True:
            with self._lock:
                pending = self._kept.get(key)
                if first := pending is None:
                    pending = self._kept[key] = _Pending()
                self._kept.move_to_end(key)
            if first:
                return self._computed(key, pending, compute)
            if not pending.done():
                pending.wait()
            if not pending.cancelled():
                return pending.result()

    def clear(self) -> None:
        """Forgets everything; a result that is being computed still reaches those who wait, but is not kept."""
        with self._lock:
            self._kept.clear()

    def _computed(self, key: Hashable, pending: _Pending, compute: Callable[[], Any]) -> Any:
        try:
            result = read_only(compute())
        except BaseException as error:
            with self._lock:
                if self._kept.get(key) is pending:
                    del self._kept[key]
            pending.give_up(error)
            raise
        pending.set_result(result)
        self._trim()
        return result

    def _trim(self) -> None:
        with self._lock:
            if (spare := len(self._kept) - self.maxsize) > 0:
                for key in [key for key, pending in self._kept.items() if pending.done()][:spare]:
                    del self._kept[key]


class _Pending(Future):
    """A result that the thread which made this object is computing."""

    def __init__(self):
        super().__init__()
        self.thread = threading.get_ident()

    def wait(self) -> None:
        if self.thread == threading.get_ident():
            raise RuntimeError("A computation asked for its own result.")
        wait([self])

    def give_up(self, error: BaseException) -> None:
        """Tells those who wait; what is no Exception (Streamlit's way to end one reader's run) is not theirs."""
        if isinstance(error, Exception):
            self.set_exception(error)
        else:
            self.cancel()
            self.set_running_or_notify_cancel()


def cached(maxsize: int, *, ignore: tuple[str, ...] = (), by: Callable[..., Hashable] | None = None) -> Callable:
    """A decorator: keeps a function's last results in a Memory, by its arguments however they are passed.

    Arguments named in ``ignore`` do not count: what is passed through them must not change the result.
    ``by``, called with the same arguments, gives what the result depends on beside them.
    """

    def decorate(function: Callable) -> Callable:
        memory, signature = Memory(maxsize), inspect.signature(function)
        _memories.append(memory)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            key = tuple(value for name, value in bound.arguments.items() if name not in ignore)
            return memory.get((key, by and by(*arguments, **named)), lambda: function(*arguments, **named))

        return call

    return decorate


def clear_all() -> None:
    """Empties the memories of all cached functions."""
    for memory in _memories:
        memory.clear()


def read_only(value: Any) -> Any:
    """``value``, its arrays read-only: itself, or those in its tuples, lists, mappings and dataclasses."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        read_only(list(value.values()))
    elif isinstance(value, (tuple, list)):
        for part in value:
            read_only(part)
    elif is_dataclass(value):
        read_only([getattr(value, field.name) for field in fields(value)])
    return value
