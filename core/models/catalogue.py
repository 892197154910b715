"""Where trained models lie: those shipped in assets, those trained on this machine.

A model is a safetensors file (parameters in half precision, buffers as they are) and one record: what it was
trained on, its accuracy, its sha256, origin, licence and the command that makes it again. A record without a file
says that training was tried and did not reach the accuracy that makes scores meaningful.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from core import store
from core.models.model import Model, freeze
from core.models.training import accuracy
from core.registry import DATASETS, MODELS, settled
from core.types import InputError, Spec, Split

GENERALISES = 0.9  # test accuracy above which scores are meaningful (PatternLocal, section 4.2)
ADDRESS = ("dataset", "scenario", "background", "snr", "size", "samples", "data_seed", "model", "model_seed")


def address(spec: Spec) -> dict[str, Any]:
    """The part of a Spec that says which trained model it means."""
    spec = settled(spec)
    return {name: getattr(spec, name) for name in ADDRESS}


def spec_of(record: dict[str, Any]) -> Spec:
    """The Spec whose model a record describes."""
    return Spec(**{name: record[name] for name in ADDRESS})


def records() -> list[dict[str, Any]]:
    """All known models, those shipped first; ``file`` is None where training did not succeed."""
    trained = [store.read_json(path) for path in sorted(_trained().glob("*.json"))]
    sound = [r for r in trained if isinstance(r, dict) and {*ADDRESS, "file", "accuracy"} <= set(r)]
    return store.manifest("models") + sound


def find(spec: Spec) -> dict[str, Any] | None:
    """The record of exactly this model, or None."""
    wanted = address(spec)
    return next((r for r in records() if all(r.get(k) == v for k, v in wanted.items())), None)


def stamp(spec: Spec | None = None) -> tuple:
    """Another one whenever the model a Spec means (without one: any model) may have been trained anew.

    It costs microseconds: what it holds is when the files that tell of models were last written.
    """
    paths = [store.ASSETS / "manifest.json", _trained()]
    return (str(_trained()), *map(_state, paths if spec is None else [*paths, _record_path(spec)]))


def _state(path: Path) -> tuple[int, ...]:
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino


def load(spec: Spec) -> Model:
    """The trained model a Spec means; InputError when there is none or its file is not sound."""
    record = find(spec)
    try:
        return _load(spec, record)
    except InputError:
        if find(spec) == record:
            raise
        return load(spec)  # trained anew between the look at its record and at its file


def _load(spec: Spec, record: dict[str, Any] | None) -> Model:
    if record is None or not record["file"]:
        tried = f" Training reached only {record['accuracy']:.0%} there." if record else ""
        raise InputError(f"No trained {spec.model} for {name_of(spec)}.{tried} Train it: {command(spec)}")
    folder = store.ASSETS / "models" if record["origin"] == "shipped" else _trained()
    path = store.checked(folder / Path(record["file"]).name, record["sha256"])
    try:
        weights = {name: tensor.float() if tensor.is_floating_point() else tensor
                   for name, tensor in load_file(path).items()}
        size = settled(spec).size  # blank where a data set has only one
        module = MODELS[spec.model].function(*[size] * bool(size))
        module.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        raise InputError(f"{path.name} does not hold a {spec.model} for {name_of(spec)}: {error}") from None
    return Model(spec.model, freeze(module), record["accuracy"], record, record["sha256"])


def rounded(model: Model, test: Split) -> Model:
    """A copy of the model with its parameters as half precision keeps them, and the accuracy these have."""
    module = copy.deepcopy(model.module)
    for parameter in module.parameters():
        parameter.data = parameter.data.half().float()
    return replace(model, module=module, accuracy=accuracy(module, test.x, test.y)[0])


def keep(model: Model, spec: Spec, *, shipped: bool = False, asked: str = "") -> dict[str, Any]:
    """Saves a trained model with its record, in assets or on this machine; returns the record.

    ``asked``: what its training was told beyond the defaults, as flags of the command line.
    """
    facts = {**address(spec), "accuracy": model.accuracy, **model.facts,
             "versions": {p: version(p) for p in ("torch", "numpy", "safetensors")}}
    parameters = dict(model.module.named_parameters())  # halved; a tree's node numbers are no such
    data = save({name: (tensor.half() if name in parameters else tensor).contiguous()
                 for name, tensor in model.module.state_dict().items()},
                metadata={"attribution-lab": json.dumps(facts)})
    keeping = not shipped or model.accuracy > GENERALISES or not DATASETS[spec.dataset].truth
    file = f"{name_of(spec).replace(' ', '_')}_{spec.model}.safetensors" if shipped else \
        f"{_record_path(spec).stem}-{hashlib.sha256(data).hexdigest()[:8]}.safetensors"
    folder = store.ASSETS / "models" if shipped else _trained()
    record = {"file": file if keeping else None, "bytes": len(data) if keeping else 0, **facts,
              "origin": "shipped" if shipped else "trained here", "licence": "MIT",
              "command": command(spec) + asked}
    try:
        if keeping:
            store.write(folder / file, data)
            record["sha256"] = store.sha256(folder / file)
        _write_record(record, spec, shipped)
    except OSError as error:
        raise InputError(f"The trained model could not be kept in {folder}: {error.strerror or error}.") from None
    return record


def _write_record(record: dict[str, Any], spec: Spec, shipped: bool) -> None:
    """Until it is there the old one holds, and its file: a reader gets one network or the other."""
    if shipped:
        others = [r for r in store.manifest("models") if any(r[k] != record[k] for k in ADDRESS)]
        store.write_manifest("models", sorted(others + [record], key=lambda r: [str(r[k]) for k in ADDRESS]))
    else:
        path = _record_path(spec)
        store.write(path, json.dumps(record, indent=1).encode())
        for old in path.parent.glob(f"{path.stem}*.safetensors"):
            if old.name != record["file"]:
                old.unlink(missing_ok=True)


def name_of(spec: Spec) -> str:
    """Which data, in a few words: ``xai-tris XOR CORR 0.05 64x64``."""
    spec = settled(spec)
    words = [spec.dataset, spec.scenario, spec.background, f"{spec.snr:g}" * bool(spec.snr),
             f"{spec.size}x{spec.size}" * bool(spec.size)]
    return " ".join(word for word in words if word)


def command(spec: Spec) -> str:
    """The command line that trains this model."""
    always, plain = ("dataset", "scenario", "background", "snr", "size", "model"), address(Spec())
    flags = [f"--{name.replace('_', '-')} {f'{value:g}' if isinstance(value, float) else value}"
             for name, value in address(spec).items() if value and (name in always or value != plain[name])]
    return " ".join(["python -m core train", *flags])


def _record_path(spec: Spec) -> Path:
    """Where the record of a model trained on this machine lies."""
    return _trained() / _record_name(spec)


@functools.lru_cache(maxsize=256)  # the same for the same Spec always, and asked for with every question
def _record_name(spec: Spec) -> str:
    return f"{store.key(address(spec))}.json"


def _trained() -> Path:
    return store.home() / "models"
