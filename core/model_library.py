"""Which trained models there are, and training more of them."""

from __future__ import annotations

from pathlib import Path

from core import models, pipeline
from core.datasets.digits import with_training_images
from core.models import GENERALISES  # noqa: F401  (of this door)
from core.registry import DATASETS, canonical
from core.types import ModelRecord, Progress, Spec


def has_model(spec: Spec) -> bool:
    """Whether the model a Spec means has been trained and kept."""
    record = model_record(spec)
    return record is not None and record.available


def model_record(spec: Spec) -> ModelRecord | None:
    """What is known of exactly the model a Spec means; None if it was never trained."""
    return models.find(canonical(spec).model_key())


def model_records() -> list[ModelRecord]:
    """What is known of all models, those shipped first."""
    return models.records()


def models_stamp() -> tuple:
    """Another one whenever any model may have been trained anew."""
    return models.stamp()


def known_models(spec: Spec) -> list[ModelRecord]:
    """The records of all models trained (or tried) for the Spec's data, any SNR and kind."""
    wanted = DATASETS[spec.dataset].fields(spec) | {"dataset": spec.dataset, "model_seed": spec.model_seed}
    del wanted["snr"]
    wanted["data_options"] = tuple(sorted(wanted["data_options"].items()))
    return [
        record
        for record in models.records()
        if all(getattr(record.spec, name) == value for name, value in wanted.items())
    ]


def data_name(spec: Spec) -> str:
    """Which data, in a few words: ``xai-tris XOR CORR SNR 0.05 64x64``."""
    return models.name_of(canonical(spec))


def train_command(spec: Spec) -> str:
    """The command line that trains the model a Spec means."""
    return models.command(canonical(spec).model_key())


def train(
    spec: Spec,
    progress: Progress | None = None,
    *,
    shipped: bool = False,
    way: str = "auto",
    epochs: int | None = None,
    folder: Path | None = None,
) -> ModelRecord:
    """Trains and keeps the model a Spec means; returns its record.

    ``folder`` holds the published training images of a data set of which only a part is shipped.
    """
    key = canonical(spec).model_key()
    data = with_training_images(pipeline.dataset(key), folder) if folder else pipeline.dataset(key)
    trained = models.train(key.model, data, seed=key.model_seed, progress=progress, way=way, epochs=epochs)
    trained = models.rounded(trained, data.test)
    flags = {"training": way if way != "auto" else None, "epochs": epochs, "from": folder}
    asked = "".join(f" --{name} {value}" for name, value in flags.items() if value)
    return models.keep(trained, key, shipped=shipped, asked=asked)
