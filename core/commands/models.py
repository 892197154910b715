"""``list`` and ``train``: everything that can be chosen, and new models."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core import model_library
from core.commands import common
from core.models.training import TRAINING_MODES
from core.registry import DATASETS, METHODS, METRICS, MODELS


def add(commands) -> None:
    """Adds the commands ``list`` and ``train``."""
    common.add(commands, "list", list_all, "list data sets, models, methods and metrics")

    command = common.add(commands, "train", train, "train the model of a Spec and keep it on this machine")
    common.spec_flags(command)
    command.add_argument(
        "--training",
        choices=TRAINING_MODES,
        default="auto",
        help="plain, on whitened images, or whichever begins to learn (auto)",
    )
    command.add_argument("--epochs", type=common.whole(1), help="maximum number of passes over the training images")
    command.add_argument(
        "--from",
        dest="images",
        type=Path,
        metavar="FOLDER",
        help="train on all images in the published IDX files in this folder (only part of Fashion-MNIST is shipped)",
    )
    command.add_argument("--shipped", action="store_true", help="keep it in assets, as part of this program")


def list_all(options: argparse.Namespace) -> None:
    """Prints all registered entries with their options, and the trained models."""
    families = {"datasets": DATASETS, "models": MODELS, "methods": METHODS, "metrics": METRICS}
    content: dict[str, Any] = {
        family: [
            {
                "name": e.name,
                "label": e.label,
                "summary": e.summary,
                "formula": e.formula,
                "misleads": e.misleads,
                "reference": e.reference,
                "options": {
                    o.name: {
                        "default": o.default,
                        "help": o.help,
                        "choices": list(o.choices),
                        "low": o.low,
                        "high": o.high,
                    }
                    for o in e.options
                },
            }
            for e in registry.values()
        ]
        for family, registry in families.items()
    }
    content["trained"] = [record.to_dict() for record in model_library.model_records()]
    if options.json:
        print(json.dumps(content))
        return
    for family in families:
        print(f"{family}:")
        for entry in content[family]:
            print(f"  {entry['name']:22} {entry['summary']}")
            for name, option in entry["options"].items():
                allowed = option["choices"] or f"{option['low']} to {option['high']}"
                print(f"  {'':22}   {name} = {option['default']} ({allowed})")
    print("trained models:")
    for record in model_library.model_records():
        state = "" if record.available else "  not shipped: below 90 %"
        name, accuracy = model_library.data_name(record.spec), f"test accuracy {record.accuracy:.3f}"
        print(f"  {name:36} {record.spec.model:4}  {accuracy}{state}")


def train(options: argparse.Namespace) -> None:
    """Trains the model of a Spec and prints its test accuracy."""
    record = model_library.train(
        common.read_spec(options),
        common.progress,
        shipped=options.shipped,
        way=options.training,
        epochs=options.epochs,
        folder=options.images,
    )
    if options.json:
        print(json.dumps(record.to_dict()))
    else:
        print(f"{record.spec.model}: test accuracy {record.accuracy:.3f} ({record.facts['training']} training)")
