import errno
import hashlib
import io
import json
import os
import pickle
import random
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from core import InputError, store

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}
FACTS = {"n": 1, "text": "é", "list": [1.5, None]}


class Bomb:
    """Unpickled, it leaves a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def same(kept):
    return kept is not None and set(kept) == set(ARRAYS) and all((kept[k] == ARRAYS[k]).all() for k in ARRAYS)


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def damages(whole: bytes) -> dict[str, bytes]:
    flipped = bytearray(whole)
    flipped[-10] ^= 1
    return {
        "empty": b"",
        "cut off": whole[: len(whole) // 2],
        "one bit": bytes(flipped),
        "foreign": b"hello\n" * 99,
        "longer": whole + b"x",
    }


def test_what_was_saved_is_loaded(tmp_path):
    store.save(tmp_path / "x.bin", ARRAYS, FACTS)
    arrays, facts = store.load(tmp_path / "x.bin")
    assert same(arrays) and facts == FACTS


@pytest.mark.parametrize("damage", damages(b"x" * 20))
def test_a_damaged_file_is_not_read(tmp_path, damage):
    store.save(tmp_path / "x.bin", ARRAYS, FACTS)
    (tmp_path / "x.bin").write_bytes(damages((tmp_path / "x.bin").read_bytes())[damage])
    assert store.load(tmp_path / "x.bin") is None


def test_what_is_not_there_is_none(tmp_path):
    assert store.load(tmp_path / "x.bin") is None and store.load_folder(tmp_path / "x") is None


@pytest.mark.parametrize("content", ["garbage", "pickle", "pickled array", "other archive"])
def test_a_stamped_file_of_other_content_is_not_read_and_runs_nothing(tmp_path, content):
    bomb, packed = tmp_path / "exploded", io.BytesIO()
    if content == "garbage":
        packed.write(b"hello")
    elif content == "pickle":
        packed.write(pickle.dumps(Bomb(bomb)))
    elif content == "pickled array":
        np.savez(packed, facts=np.array([Bomb(bomb)], object))
    else:
        np.savez(packed, other=np.zeros(2))
    data = packed.getvalue()
    (tmp_path / "x.bin").write_bytes(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
    try:
        assert store.load(tmp_path / "x.bin") is None
    finally:
        assert not bomb.exists()


def test_a_folder_is_loaded_memory_mapped_and_read_only(tmp_path):
    store.save_folder(tmp_path / "x", ARRAYS)
    kept = store.load_folder(tmp_path / "x")
    assert same(kept) and isinstance(kept["a"], np.memmap)
    with pytest.raises(ValueError):
        kept["a"][0, 0] = 9


@pytest.mark.parametrize("name", ["a.npy", "sha256.json"])
@pytest.mark.parametrize("damage", [*damages(b"x" * 20), "missing", "{}", "[]", "3"])
def test_a_damaged_folder_is_not_read_and_can_be_written_again(tmp_path, name, damage):
    store.save_folder(tmp_path / "x", ARRAYS)
    file = tmp_path / "x" / name
    whole = file.read_bytes()
    file.write_bytes({**damages(whole), "missing": b""}.get(damage, damage.encode()))
    if damage == "missing":
        file.unlink()
    assert store.load_folder(tmp_path / "x") is None
    store.save_folder(tmp_path / "x", ARRAYS)
    assert same(store.load_folder(tmp_path / "x"))


def test_a_foreign_file_in_the_place_of_a_folder_is_not_read(tmp_path):
    (tmp_path / "x").write_text("hello")
    assert store.load_folder(tmp_path / "x") is None


def test_a_pickled_array_in_a_folder_is_not_loaded(tmp_path):
    store.save_folder(tmp_path / "x", ARRAYS)
    file = tmp_path / "x" / "a.npy"
    np.save(file, np.array([Bomb(tmp_path / "exploded")], object), allow_pickle=True)
    sums = json.loads((tmp_path / "x" / "sha256.json").read_text()) | {"a": store.sha256(file)}
    (tmp_path / "x" / "sha256.json").write_text(json.dumps(sums))
    assert store.load_folder(tmp_path / "x") is None
    assert not (tmp_path / "exploded").exists()


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path):
    store.write(tmp_path / "x", b"old")
    with pytest.raises(RuntimeError), store.atomic(tmp_path / "x") as fresh:
        fresh.write_bytes(b"ne")
        raise RuntimeError
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("what", ["write_bytes", "mkdir"])
def test_a_full_disk_loses_the_entry_says_so_and_leaves_nothing(tmp_path, monkeypatch, what):
    monkeypatch.setattr(Path, what, full)
    store.save(tmp_path / "x.bin", ARRAYS, FACTS)
    assert "No space left" in store.write_error()
    assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    store.save(tmp_path / "x.bin", ARRAYS, FACTS)
    assert store.write_error() is None


def test_a_full_disk_loses_a_folder_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(np, "save", full)
    store.save_folder(tmp_path / "x", ARRAYS)
    assert "No space left" in store.write_error()
    assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    store.save_folder(tmp_path / "x", ARRAYS)
    assert store.write_error() is None and same(store.load_folder(tmp_path / "x"))


def test_a_file_is_not_silently_lost_where_a_folder_is(tmp_path):
    with pytest.raises(OSError):
        store.write(tmp_path, b"data")


def test_many_writers_of_one_folder_leave_a_sound_one(tmp_path):
    threads = [threading.Thread(target=store.save_folder, args=(tmp_path / "x", ARRAYS)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert same(store.load_folder(tmp_path / "x"))
    assert os.listdir(tmp_path) == ["x"]


def test_the_folders_used_longest_ago_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_DATA_BYTES", 3000)
    for age, name in [(100, "a"), (300, "b"), (200, "c")]:
        store.save_folder(tmp_path / name, {"x": np.zeros(100)})  # 928 bytes and its checksum
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    store.load_folder(tmp_path / "b")  # used just now
    store.save_folder(tmp_path / "d", {"x": np.zeros(100)})
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "d"]


def test_keys_depend_on_content_only():
    assert store.key({"a": 1, "b": 2}) == store.key({"b": 2, "a": 1}) != store.key({"a": 1, "b": 3})
    x = np.arange(6.0).reshape(2, 3)
    assert store.array_key(x) == store.array_key(np.asfortranarray(x))
    assert len({store.array_key(v) for v in (x, x.T, x.ravel(), x.astype(np.float32), x + 1)}) == 5


def test_a_changed_asset_is_refused_by_name(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(b"good")
    good = hashlib.sha256(b"good").hexdigest()
    assert store.checked(file, good) == file
    file.write_bytes(b"evil")
    with pytest.raises(InputError, match="weights.bin"):
        store.checked(file, good)
    file.unlink()
    with pytest.raises(InputError, match="weights.bin"):
        store.checked(file, good)


def test_saving_leaves_the_users_own_random_numbers_alone(tmp_path):
    random.seed(1)
    before = random.getstate()
    for number in range(3):
        store.save(tmp_path / f"{number}.bin", ARRAYS, FACTS)
    assert random.getstate() == before


def test_the_oldest_results_are_forgotten_and_what_is_no_result_is_left(tmp_path, monkeypatch):
    """Another process's unfinished file is a folder, and was once taken for the oldest result."""
    monkeypatch.setattr(store, "MAX_RESULTS", 8)
    monkeypatch.setattr(store, "SAVES_BETWEEN_COUNTS", 1)
    (tmp_path / ".new-unfinished").mkdir()
    os.utime(tmp_path / ".new-unfinished", (1, 1))
    for number in range(10):
        store.save(tmp_path / f"{number}.bin", ARRAYS, FACTS)
        os.utime(tmp_path / f"{number}.bin", (1000 + number, 1000 + number))
    assert store.write_error() is None
    assert sorted(os.listdir(tmp_path)) == [".new-unfinished", *(f"{number}.bin" for number in range(2, 10))]


def test_a_result_that_another_process_has_just_removed_is_no_trouble(tmp_path):
    assert store._oldest_first([tmp_path / "gone", tmp_path]) == [tmp_path / "gone", tmp_path]


def test_the_trouble_can_be_asked_for_while_it_passes(tmp_path):
    """It was looked at twice: once whether there is any, once for its text."""
    end, faults = time.monotonic() + 0.3, []

    def come_and_go():
        while time.monotonic() < end:
            with store.ignoring_write_errors("A result"):
                raise OSError(errno.ENOSPC, "full")
            with store.ignoring_write_errors("A result"):
                pass

    def ask():
        try:
            while time.monotonic() < end:
                store.write_error()
        except IndexError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=one) for one in (come_and_go, ask, ask)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults


def test_the_stamp_of_code_is_that_of_its_content_wherever_it_lies(tmp_path):
    (tmp_path / "mine.py").write_text("a = 1")
    first = store.sources("types.py", str(tmp_path / "mine.py"))
    (tmp_path / "mine.py").write_text("a = 2")
    assert first != store.sources("types.py", str(tmp_path / "mine.py"))
    assert store.sources("methods", "types.py") == store.sources("types.py", "methods")


def test_a_reader_tries_again_when_pythons_parser_was_busy_in_another_thread(tmp_path, monkeypatch):
    """Python 3.11.7 fails in ast.literal_eval, which numpy.load calls, when two threads parse at once."""
    load, failures = np.load, iter([True, True, False, True] + [False] * 100)

    def busy(*arguments, **named):
        if next(failures):
            raise SystemError("AST constructor recursion depth mismatch")
        return load(*arguments, **named)

    store.save(tmp_path / "one.bin", {"a": np.arange(3)}, {"b": 1})
    store.save_folder(tmp_path / "two", {"c": np.arange(4)})
    monkeypatch.setattr(np, "load", busy)
    arrays, facts = store.load(tmp_path / "one.bin")
    assert arrays["a"].tolist() == [0, 1, 2] and facts == {"b": 1}
    assert store.load_folder(tmp_path / "two")["c"].tolist() == [0, 1, 2, 3]
