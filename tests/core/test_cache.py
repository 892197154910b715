"""The memory that threads and sessions share."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from core import cache
from core.cache import Memory, cached


def together(*work):
    """What functions return, or raise, each on a thread of its own."""
    with ThreadPoolExecutor(len(work)) as pool:
        waiting = [pool.submit(one) for one in work]
        return [one.exception(timeout=20) or one.result() for one in waiting]


def test_a_key_is_computed_once_however_many_ask():
    calls = []

    def slow():
        calls.append(1)
        time.sleep(0.05)
        return np.zeros(3)

    memory = Memory(4)
    found = together(*[lambda: memory.get("a", slow)] * 8)
    assert len(calls) == 1 and all(one is found[0] for one in found)


def test_other_keys_are_not_held_up_and_a_computation_may_ask_for_them():
    memory, started, go = Memory(4), threading.Event(), threading.Event()

    def slow():
        started.set()
        assert go.wait(10)
        return memory.get("inner", lambda: 1) + 1

    def quick():
        assert started.wait(10)
        found = memory.get("b", lambda: memory.get("inner", lambda: 1) + 10)
        go.set()
        return found

    assert together(lambda: memory.get("a", slow), quick) == [2, 11]


def test_an_exception_goes_to_all_who_wait_and_is_not_kept():
    memory, tries = Memory(4), []

    def failing():
        tries.append(1)
        time.sleep(0.05)
        raise ValueError("no")

    found = together(*[lambda: memory.get("a", failing)] * 3)
    assert [str(one) for one in found] == ["no"] * 3 and len(tries) == 1
    assert memory.get("a", lambda: 3) == 3


def test_a_reader_who_leaves_does_not_take_the_others_along():
    """Streamlit ends a run by an exception that is no Exception; another reader must not get it."""

    class Left(BaseException):
        pass

    memory, started = Memory(4), threading.Event()

    def leaves():
        started.set()
        time.sleep(0.05)
        raise Left

    def stays():
        assert started.wait(10)
        return memory.get("a", lambda: "computed anew")

    first, second = together(lambda: memory.get("a", leaves), stays)
    assert isinstance(first, Left) and second == "computed anew"


def test_the_one_used_longest_ago_goes_first():
    memory = Memory(2)
    for key in "abac":
        memory.get(key, lambda key=key: key)
    computed = [key for key in "acb" if memory.get(key, lambda key=key: key + "!") == key + "!"]
    assert computed == ["b"]


def test_a_computation_that_asks_for_itself_is_told_so():
    memory = Memory(2)
    with pytest.raises(RuntimeError, match="its own result"):
        memory.get("a", lambda: memory.get("a", lambda: 1))


def test_clearing_forgets_also_what_is_being_computed():
    @cached(4)
    def slow(x):
        started.set()
        assert go.wait(10)
        calls.append(x)
        return x

    started, go, calls = threading.Event(), threading.Event(), []

    def clear():
        assert started.wait(10)
        cache.clear_all()
        go.set()

    assert together(lambda: slow(1), clear)[0] == 1
    assert slow(1) == 1 and calls == [1, 1]
    assert slow(1) == 1 and calls == [1, 1]


def test_arguments_count_by_name_but_those_ignored():
    calls = []

    @cached(4, ignore=("progress",))
    def add(a, b=2, *, progress=None):
        calls.append(1)
        return a + b

    assert {add(1), add(1, 2), add(b=2, a=1), add(1, progress=print)} == {3} and len(calls) == 1
    assert add(1, 3) == 4 and add.__name__ == "add"


def test_what_a_result_depends_on_beside_its_arguments_is_part_of_the_key():
    state = [1]
    f = cached(4, by=lambda x: state[0])(lambda x: x * state[0])
    assert f(2) == 2
    state[0] = 5
    assert f(2) == 10
    state[0] = 1
    assert f(2) == 2


def test_arrays_in_a_result_cannot_be_written():
    @dataclass(frozen=True)
    class Found:
        maps: dict
        pair: tuple

    found = cached(1)(lambda: Found({"a": np.zeros(2)}, (np.zeros(2), [np.zeros(2)])))()
    for array in (found.maps["a"], found.pair[0], found.pair[1][0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_every_cached_function_of_the_program_hands_out_arrays_that_cannot_be_written(spec):
    from core import lessons, pipeline, regions

    found = [
        pipeline.split_predictions(spec),
        pipeline.dataset(spec).union,
        regions.decision(spec).truth,
        regions.comparison_point(spec, regions.COMPARISON_POINTS[1]).image,
        lessons.two_variables().x,
        lessons.bandwidth_curve().closed,
        pipeline.context(spec).training.mean,
    ]
    assert not [array for array in found if array.flags.writeable]
