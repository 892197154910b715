"""Where trained models lie: those shipped in assets, those trained on this machine.

A model is a safetensors file (parameters in half precision, buffers as they are) and one ModelRecord. A record
without a file says that training was tried and did not reach the accuracy that makes scores meaningful. The Specs
here are ``model_key`` of canonical ones.
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
from core.cache import cached
from core.models.model import Model, freeze
from core.models.training import accuracy
from core.registry import DATASETS, MODELS, field_of
from core.types import InputError, ModelRecord, Spec, Split

GENERALISES = 0.9  # test accuracy above which scores are meaningful (PatternLocal, section 4.2)


def records() -> list[ModelRecord]:
    """All known models, those shipped first."""
    return list(_records(stamp()))


@cached(2)
def _records(stamp: tuple) -> list[ModelRecord]:
    trained = [store.read_json(path) for path in sorted(_trained().glob("*.json"))]
    return [record for values in [*store.manifest("models"), *trained] if (record := _record(values))]


def _record(values: Any) -> ModelRecord | None:
    try:
        return ModelRecord.from_dict(values) if isinstance(values, dict) and "file" in values else None
    except InputError:
        return None


def find(key: Spec) -> ModelRecord | None:
    """The record of exactly the model that a Spec's ``model_key`` means, or None."""
    return next((record for record in records() if record.spec == key), None)


def stamp(key: Spec | None = None) -> tuple:
    """Another one whenever the model of a ``model_key`` (without one: any model) may have been trained anew.

    It costs microseconds: what it holds is when the files that tell of models were last written.
    """
    trained = sorted(_trained().glob("*.json")) if key is None else [_record_path(key)]
    return (str(_trained()), *map(_state, [store.ASSETS / "manifest.json", _trained(), *trained]))


def _state(path: Path) -> tuple[int, ...]:
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino


def load(key: Spec) -> Model:
    """The trained model that a ``model_key`` means; InputError when there is none or its file is not sound."""
    record = find(key)
    try:
        return _load(key, record)
    except InputError:
        if find(key) == record:
            raise
        return load(key)  # trained anew between the look at its record and at its file


def _load(key: Spec, record: ModelRecord | None) -> Model:
    if record is None or not record.available:
        tried = f" Training reached only {record.accuracy:.0%} there." if record else ""
        raise InputError(f"No trained {key.model} for {name_of(key)}.{tried} Train it: {command(key)}")
    folder = store.ASSETS / "models" if record.origin == "shipped" else _trained()
    path = store.checked(folder / Path(record.file).name, record.sha256)
    try:
        weights = {
            name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in load_file(path).items()
        }
        module = MODELS[key.model].function(*([key.size] if key.size else []))  # blank where a data set has one size
        module.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        raise InputError(f"{path.name} does not hold a {key.model} for {name_of(key)}: {error}") from None
    return Model(key.model, freeze(module), record.accuracy, record.facts, record.sha256)


def rounded(model: Model, test: Split) -> Model:
    """A copy of the model with its parameters as half precision keeps them, and the accuracy these have."""
    module = copy.deepcopy(model.module)
    for parameter in module.parameters():
        parameter.data = parameter.data.half().float()
    return replace(model, module=module, accuracy=accuracy(module, test.x, test.y)[0])


def keep(model: Model, key: Spec, *, shipped: bool = False, asked: str = "") -> ModelRecord:
    """Saves a trained model with its record, in assets or on this machine; returns the record.

    ``key`` is the ``model_key`` of a canonical Spec; ``asked``: the options of its training beyond the defaults, as
    flags of the command line.
    """
    facts = {**model.facts, "versions": {p: version(p) for p in ("torch", "numpy", "safetensors")}}
    parameters = dict(model.module.named_parameters())  # halved; a tree's node numbers are no such
    data = save(
        {
            name: (tensor.half() if name in parameters else tensor).contiguous()
            for name, tensor in model.module.state_dict().items()
        },
        metadata={
            "attribution-lab": json.dumps({**key.to_dict("data", "model"), "accuracy": model.accuracy, **facts})
        },
    )
    folder, digest = store.ASSETS / "models" if shipped else _trained(), hashlib.sha256(data).hexdigest()
    record = ModelRecord(
        key,
        model.accuracy,
        origin="shipped" if shipped else "trained here",
        licence="MIT",
        command=command(key) + asked,
        facts=facts,
    )
    if not shipped or model.accuracy > GENERALISES or not DATASETS[key.dataset].has_ground_truth:
        record = replace(record, file=_file_name(key, digest, shipped), bytes=len(data), sha256=digest)
    try:
        if record.available:
            store.write(folder / record.file, data)
        _write_record(record, shipped)
    except OSError as error:
        raise InputError(f"The trained model could not be kept in {folder}: {error.strerror or error}.") from None
    return record


def _file_name(key: Spec, digest: str, shipped: bool) -> str:
    if not shipped:
        return f"{_record_path(key).stem}-{digest[:8]}.safetensors"
    before = find(key)
    return (
        before.file
        if before and before.available and before.origin == "shipped"
        else f"{name_of(key).replace(' ', '_')}_{key.model}.safetensors"
    )


def _write_record(record: ModelRecord, shipped: bool) -> None:
    """Until it is written, the old record and its file hold: a reader gets one network or the other."""
    if shipped:
        others = [r for r in map(_record, store.manifest("models")) if r and r.spec != record.spec]
        ordered = sorted([*others, record], key=lambda r: [str(v) for v in r.spec.to_dict("data", "model").values()])
        store.write_manifest("models", [r.to_dict() for r in ordered])
    else:
        path = _record_path(record.spec)
        store.write(path, json.dumps(record.to_dict(), indent=1).encode())
        for old in path.parent.glob(f"{path.stem}*.safetensors"):
            if old.name != record.file:
                old.unlink(missing_ok=True)


def name_of(spec: Spec) -> str:
    """Which data, in a few words: ``xai-tris XOR CORR SNR 0.05 64x64``."""
    return " ".join([spec.dataset, *DATASETS[spec.dataset].texts(spec)]).replace(" × ", "x")


def command(key: Spec) -> str:
    """The command line that trains the model of a ``model_key``."""
    plain = Spec().to_dict("data", "model")
    always = {"dataset", "model"} | {field_of(o) or o.name for o in DATASETS[key.dataset].options if o.on_pages}
    values = key.to_dict("data", "model")
    values |= values.pop("data_options", {})
    flags = [
        f"--{name.replace('_', '-')} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in values.items()
        if value not in ("", 0) and (name in always or value != plain[name])
    ]
    return " ".join(["python -m core train", *flags])


def _record_path(key: Spec) -> Path:
    """Where the record of a model trained on this machine lies."""
    return _trained() / _record_name(key)


@functools.lru_cache(maxsize=256)  # the same for the same Spec always, and asked for with every query
def _record_name(key: Spec) -> str:
    return f"{store.key(key.to_dict('data', 'model'))}.json"


def _trained() -> Path:
    return store.home() / "models"
