"""Results that threads and sessions share: each is computed once, the last ones are kept, nobody changes them.

Whatever depends on a model must have the model's digest in its key (see ``core.pipeline.remembered``).
``functools.cache`` remains right for what is the same as long as the program runs and may as well be found out
twice: the program's own files, a font's characters.
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
    """The last ``maxsize`` results by key; the one used longest ago goes first.

    The first thread to ask for a key computes it. Others that ask meanwhile wait for its result, or for its
    exception, which is not kept. Nothing is locked while something is computed: other keys are not held up, and a
    computation may ask for other keys. What only stops the first thread (a reader who has left its page) is not
    passed on: one of those who wait begins anew.

    All arrays in a result are read-only, so that no reader changes what another sees; who wants to write
    copies. Nobody may change anything else of it.
    """

    def __init__(self, maxsize: int):
        self.maxsize = maxsize
        self._lock, self._kept = threading.Lock(), OrderedDict[Hashable, _Pending]()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gives, now or when it was first asked for; ``key`` holds all that it depends on."""
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
        """Forgets everything; what is being computed is handed to those who wait for it, and not kept."""
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
    """A result that is being computed by the thread that made this."""

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
