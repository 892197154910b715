"""Files that can be trusted: written completely or not at all, and checked by sha256 when read.

No pickle is written or read. Arrays lie in a folder of ``.npy`` files (memory-mapped when read) or in
one checked file; both are found by a key that holds everything their content depends on.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import itertools
import json
import logging
import math
import os
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.cache import cached
from core.types import InputError

ASSETS = Path(__file__).parents[1] / "assets"  # what is shipped; manifest.json says what and whence
log = logging.getLogger("attribution-lab")
MAX_DATA_BYTES = 6_000_000_000  # of data sets; the least recently used are removed first
MAX_RESULTS = 20_000  # of each kind; the oldest quarter is removed first
SAVES_BETWEEN_COUNTS = 100  # because counting files takes time
PARSER_ATTEMPTS = 20
_parser = threading.Lock()
_write_error: list[str | None] = [None]
_saved = itertools.count(os.getpid())  # starts anywhere, so that programs that save only a few results count as well


def home() -> Path:
    """The cache folder: $ATTRIBUTION_LAB_HOME, or attribution-lab in the user's cache folder."""
    if chosen := os.environ.get("ATTRIBUTION_LAB_HOME"):
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attribution-lab"
    except RuntimeError:
        raise InputError(
            "This user has no home folder in which results could be kept. Set ATTRIBUTION_LAB_HOME to a folder."
        ) from None


def write_error() -> str | None:
    """Why the last attempt to write to the cache failed; None if it succeeded."""
    return _write_error[0]


def key(*parts: Any) -> str:
    """A short name for ``parts`` (JSON values); equal parts have equal names, in every process."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def sha256(path: Path) -> str:
    """The file's sha256 as hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sources(*packages: str) -> str:
    """A stamp of the code in files or folders, given relative to ``core`` or in full: new code, new stamp."""
    root = Path(__file__).parent
    files = sorted(
        {p for name in packages for p in ([root / name] if name.endswith(".py") else (root / name).rglob("*.py"))}
    )
    return key([[str(p.relative_to(root)) if p.is_relative_to(root) else p.name, sha256(p)] for p in files])


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path to write to, which replaces ``path`` when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    holder = Path(tempfile.mkdtemp(prefix=".new-", dir=path.parent))
    try:
        yield holder / path.name
        try:
            os.replace(holder / path.name, path)
        except OSError:
            if not (path.is_dir() and (holder / path.name).is_dir()):  # another process may have been first
                raise
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def write(path: Path, data: bytes) -> None:
    """Writes a file completely or not at all."""
    with atomic(path) as fresh:
        fresh.write_bytes(data)


@contextlib.contextmanager
def ignoring_write_errors(what: str) -> Iterator[None]:
    """Inside the block, a full or read-only disk costs only the cache entry, never the result."""
    try:
        yield
        _write_error[0] = None
    except OSError as error:
        text = (
            f"{what} could not be saved in {home()} ({error.strerror or error}). It can be used, but will be "
            "computed again next time."
        )
        _write_error[0] = text
        log.warning(text)


def save(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """Saves small arrays and JSON facts in one file, preceded by the sha256 of what follows."""
    packed = io.BytesIO()
    np.savez(packed, facts=np.array(json.dumps(facts)), **arrays)
    data = packed.getvalue()
    with ignoring_write_errors("A result"):
        _evict_results(path.parent)
        write(path, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def load(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """What ``save`` saved, or None if there is no intact file; the last few hundred stay in memory."""
    try:
        state = path.stat()
        contents = _load(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except OSError:
        return None
    return copy.deepcopy(contents)


@cached(256)
def _load(path: Path, *version: int) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    stamp, _, data = path.read_bytes().partition(b"\n")
    if hashlib.sha256(data).hexdigest().encode() != stamp:
        log.warning("%s is damaged or not ours; it is computed again.", path)
        return None
    try:
        arrays = read_arrays(data)
        return arrays, json.loads(str(arrays.pop("facts")))
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        log.warning("%s holds something else (%s); it is computed again.", path, error)
        return None


def read_arrays(data: bytes) -> dict[str, np.ndarray]:
    """The arrays in the bytes of an npz file, by name."""

    def read() -> dict[str, np.ndarray]:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    return _parsed(read)


def _parsed(read: Callable[[], Any]) -> Any:
    """What ``read`` gives; it may call numpy.load, which parses an array's header as a Python literal.

    Before 3.11.8 and 3.12.2, Python's parser counts its depth for all threads together, and fails with a SystemError
    when two of them parse at once (cpython issue 106905): here one at a time, and again if another module parsed.
    """
    for _ in range(PARSER_ATTEMPTS):
        with contextlib.suppress(SystemError), _parser:
            return read()
    return read()


def save_folder(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Saves large arrays as a folder of .npy files with their checksums."""
    with ignoring_write_errors("A data set"):
        _evict_folders(path.parent, sum(a.nbytes for a in arrays.values()))
        if path.exists():
            shutil.rmtree(path, ignore_errors=True)
        with atomic(path) as fresh:
            fresh.mkdir()
            for name, array in arrays.items():
                np.save(fresh / f"{name}.npy", array, allow_pickle=False)
            sums = {name: sha256(fresh / f"{name}.npy") for name in arrays}
            (fresh / "sha256.json").write_text(json.dumps(sums))


def load_folder(path: Path) -> dict[str, np.ndarray] | None:
    """What ``save_folder`` saved, memory-mapped read-only, or None if it is not intact."""
    if not path.exists():
        return None
    try:
        sums = json.loads((path / "sha256.json").read_text())
        if not isinstance(sums, dict) or not sums:
            raise ValueError("no checksums")
        damaged = [name for name in sums if sha256(path / f"{name}.npy") != sums[name]]
        if damaged:
            raise ValueError(f"{', '.join(damaged)} changed since written")
        os.utime(path)
        return {
            name: _parsed(lambda name=name: np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False))
            for name in sums
        }
    except (OSError, ValueError, AttributeError) as error:
        log.warning("%s is damaged or not ours (%s); it is made again.", path, error)
        return None


def checked(path: Path, expected: str) -> Path:
    """``path`` if its sha256 is the expected one, or InputError with its name."""
    if not path.is_file():
        raise InputError(f"{path.name} is missing from {path.parent}. Restore it from the repository.")
    if sha256(path) != expected:
        raise InputError(
            f"{path.name} is not the file that was shipped (its sha256 differs), so it is "
            "not used. Restore it from the repository."
        )
    return path


def plain(content: Any) -> Any:
    """The content as JSON can hold it: arrays as lists, null for NaN and infinity."""
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    if isinstance(content, (np.ndarray, np.generic)):
        return plain(content.tolist())
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_json(path: Path) -> Any:
    """The JSON in a file, or None when the file is missing or damaged."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        if path.exists():
            log.warning("%s is damaged and was left out.", path)
        return None


def manifest(part: str) -> list[dict[str, Any]]:
    """The records of what is shipped: ``models`` or ``data``."""
    return (read_json(ASSETS / "manifest.json") or {}).get(part, [])


def write_manifest(part: str, records: list[dict[str, Any]]) -> None:
    """Replaces one part of the manifest."""
    content = (read_json(ASSETS / "manifest.json") or {}) | {part: records}
    write(ASSETS / "manifest.json", json.dumps(content, indent=1, sort_keys=False).encode() + b"\n")


def _evict_folders(folder: Path, needed: int) -> None:
    """Removes the least recently used folders until ``needed`` more bytes stay below MAX_DATA_BYTES."""
    if not folder.is_dir():
        return
    folders = _oldest_first(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    sizes = {p: sum(_age_and_size(f)[1] for f in p.glob("*")) for p in folders}
    while folders and sum(sizes[p] for p in folders) + needed > MAX_DATA_BYTES:
        shutil.rmtree(folders.pop(0), ignore_errors=True)


def _oldest_first(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=_age_and_size)


def _age_and_size(path: Path) -> tuple[float, int]:
    """When a file was last changed, and its bytes; zeros if another process has just removed it."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return 0.0, 0
    return state.st_mtime, state.st_size


def array_key(*arrays: np.ndarray) -> str:
    """A short name for the content, type and shape of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(np.ascontiguousarray(array))
    return total.hexdigest()[:32]


def _evict_results(folder: Path) -> None:
    """Keeps a folder of results below MAX_RESULTS."""
    if next(_saved) % SAVES_BETWEEN_COUNTS or not folder.is_dir():
        return
    results = _oldest_first(folder.glob("*.bin"))
    for path in results[: len(results) // 4] if len(results) > MAX_RESULTS else ():
        path.unlink(missing_ok=True)
