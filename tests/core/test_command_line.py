import io
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core import DATASETS, METHODS, METRICS, MODELS, Spec, explain, model_library, pipeline, score
from core.__main__ import main, parser
from core.commands.common import read_spec
from core.models import training
from core.registry import canonical

ROOT = Path(__file__).parents[2]
SMALL = [
    "--dataset",
    "xai-tris",
    "--scenario",
    "XOR",
    "--background",
    "CORR",
    "--snr",
    "0.15",
    "--size",
    "8",
    "--model",
    "MLP",
    "--seed",
    "0",
]


@pytest.fixture
def run(capsys):
    """``run(*arguments)`` -> (exit status, stdout, stderr)."""

    def call(*arguments):
        try:
            status = main(list(arguments))
        except SystemExit as end:  # argparse
            status = end.code
        return status, *capsys.readouterr()

    return call


def strict(text):
    """JSON as the standard has it: NaN is not a number there."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))


def test_list_tells_all_there_is(run):
    status, out, err = run("list", "--json")
    content = strict(out)
    assert status == 0 and not err
    families = {"datasets": DATASETS, "models": MODELS, "methods": METHODS, "metrics": METRICS}
    for family, registry in families.items():
        assert [e["name"] for e in content[family]] == list(registry)
        for entry, known in zip(content[family], registry.values()):
            assert entry["options"].keys() == {o.name for o in known.options}
            assert all(entry["options"][o.name]["default"] == o.default for o in known.options)
    assert content["trained"] == [record.to_dict() for record in model_library.model_records()]


def test_list_for_people_names_everything(run):
    status, out, _ = run("list")
    assert status == 0 and all(name in out for name in (*DATASETS, *MODELS, *METHODS, *METRICS))


def test_score_prints_means_images_and_spec_and_nothing_else(run, spec):
    status, out, err = run(
        "score", *SMALL, "--method", "patternlocal", "--option", "surrogate=gradient", "--images", "0:4", "--json"
    )
    content = strict(out)
    assert status == 0 and out.count("\n") == 1
    assert set(content) == {*METRICS, "images", "spec"}
    assert [row["image"] for row in content["images"]] == [0, 1, 2, 3] and "4" in err
    asked = spec.replace(method="patternlocal", options={"surrogate": "gradient"})
    assert Spec.from_dict(content["spec"]) == canonical(asked)
    for name in METRICS:
        assert set(content[name]) == {"mean", "std", "n", "undefined"}
        assert content[name]["n"] == 4 and content[name]["undefined"] == 0
        values = [score(explain(asked.replace(image=i)))[name] for i in range(4)]
        assert [row[name] for row in content["images"]] == values
        assert content[name]["mean"] == pytest.approx(np.mean(values))
        assert content[name]["std"] == pytest.approx(np.std(values))


def test_an_undefined_score_is_null_and_counted(run, register):
    register(
        METHODS,
        "test-empty-map",
        lambda context: np.zeros(context.shape) if context.image[0, 0] > 0 else context.image.astype(float),
    )
    status, out, _ = run("score", *SMALL, "--method", "test-empty-map", "--images", "0:10", "--json")
    content = strict(out)
    undefined = [row["image"] for row in content["images"] if row["emd"] is None]
    assert status == 0 and 0 < len(undefined) < 10
    assert content["emd"]["undefined"] == content["ime"]["undefined"] == len(undefined)
    assert content["emd"]["n"] == 10 - len(undefined)


def test_score_for_people_gives_the_counts(run):
    status, out, _ = run("score", *SMALL, "--method", "input", "--images", "0:2")
    assert status == 0 and out.count("over 2 images, 0 undefined") == len(METRICS)


def test_correct_keeps_the_correctly_classified_images(run, spec):
    right = pipeline.choose(spec.replace(split="train"), correct=True)
    wrong = pipeline.choose(spec.replace(split="train"), correct=False)
    first, last = (wrong[0], wrong[0] + 2) if wrong else (0, 2)
    status, out, _ = run(
        "score", *SMALL, "--method", "input", "--split", "train", "--images", f"{first}:{last}", "--correct", "--json"
    )
    assert status == 0
    assert [row["image"] for row in strict(out)["images"]] == [i for i in range(first, last) if i in set(right)]


def test_when_no_image_is_correct_it_says_so(run, monkeypatch):
    monkeypatch.setattr(pipeline, "choose", lambda *_, **__: [])
    status, out, err = run("score", *SMALL, "--method", "input", "--images", "0:2", "--correct", "--json")
    assert status == 1 and not out and "classified correctly" in err


def test_left_out_flags_take_the_specs_defaults():
    assert read_spec(parser().parse_args(["explain"])) == canonical(Spec())


@pytest.mark.parametrize(
    "flags, text",
    [
        (["--method", "patternlokal"], "Did you mean patternlocal"),
        (["--model", "RNN"], "MLP"),
        (["--dataset", "cifar"], "xai-tris"),
        (["--scenario", "FOO"], "XOR"),
        (["--snr", "abc"], "snr must be a finite number"),
        (["--snr", "nan"], "snr"),
        (["--snr", "2"], "snr"),
        (["--seed", "1.5"], "seed must be a whole number"),
        (["--seed", "-1"], "seed"),
        pytest.param(["--seed", "9" * 400], "seed", id="--seed beyond float"),
        pytest.param(["--images", f"0:{'9' * 10_000}"], "--images", id="--images of 10,000 digits"),
        (["--size", "9"], "size"),
        (["--samples", "401"], "samples"),
        (["--option", "share"], "NAME=VALUE"),
        (["--option", "shar=1"], "share"),
        (["--option", "share=2"], "share"),
        (["--option", "share=x"], "share"),
        (["--images", "5"], "A:B"),
        (["--images", "3:3"], "3:3"),
        (["--images", "0:9999"], "0:1000"),
        (["--images", "-1:2"], ""),
        (["--images", "0:²"], "A:B"),
        (["--snr", "0.33"], "python -m core train"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_bad_flag_is_one_clear_line_and_no_output(run, flags, text):
    status, out, err = run("score", *SMALL, "--json", *flags)
    assert status in ((1, 2) if flags == ["--images", "-1:2"] else (1,))
    assert not out and text in err and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["score", "--nonsense"],
        ["score", "--split", "all"],
        ["score", "--truth", "x"],
        ["score", "--workers", "-3"],
        ["score", "--workers", "0"],
        ["score", "--workers", "two"],
        ["reproduce", "openapi", "--images", "0"],
        ["reproduce", "openapi", "--workers", "-1"],
        ["train", "--epochs", "0"],
        ["bench", "--maps", "-1"],
    ],
    ids=" ".join,
)
def test_an_unknown_command_or_choice_ends_with_the_usage(run, arguments):
    status, out, err = run(*arguments)
    assert status == 2 and not out and "usage" in err


def test_explain_writes_maps_that_load_without_pickle(run, spec, tmp_path):
    file = tmp_path / "new" / "maps.npz"
    status, out, _ = run("explain", *SMALL, "--method", "saliency", "--images", "2:5", "--to", str(file), "--json")
    rows = strict(out)["images"]
    assert status == 0 and [row["image"] for row in rows] == [2, 3, 4]
    with np.load(file, allow_pickle=False) as kept:
        assert kept["values"].shape == kept["image"].shape == kept["mask"].shape == (3, 8, 8)
        assert kept["number"].tolist() == [2, 3, 4]
        asked = Spec.from_dict(json.loads(str(kept["spec"])))
        for i, values, row in zip((2, 3, 4), kept["values"], rows):
            found = explain(asked.replace(image=i))
            np.testing.assert_array_equal(values, found.values)
            assert row["label"] == found.label and row["predicted"] == found.predicted
            assert row["largest"] == np.abs(values).max()


def test_explain_to_a_folder_is_an_error_and_not_silence(run, tmp_path):
    status, _, err = run("explain", *SMALL, "--method", "saliency", "--to", str(tmp_path))
    assert status == 1 and str(tmp_path) in err


EXPLAIN = ("explain", *SMALL, "--method", "gradient", "--to")


def test_a_file_is_written_through_a_link_and_into_a_pipe(run, tmp_path):
    target, link, pipe = tmp_path / "target.npz", tmp_path / "link.npz", tmp_path / "pipe.npz"
    target.write_bytes(b"old")
    link.symlink_to(target)
    assert run(*EXPLAIN, str(link))[0] == 0
    assert link.is_symlink() and np.load(target)["values"].shape == (1, 8, 8)
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        received = pool.submit(pipe.read_bytes)
        assert run(*EXPLAIN, str(pipe))[0] == 0
        assert np.load(io.BytesIO(received.result(30)))["values"].shape == (1, 8, 8)
    assert pipe.is_fifo()
    assert run(*EXPLAIN, "/dev/null")[0] == 0 and Path("/dev/null").is_char_device()


def test_where_nothing_can_be_written_it_says_so_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "explain", lambda spec: pytest.fail("worked first"))
    protected, loop = tmp_path / "protected.npz", tmp_path / "loop.npz"
    protected.write_bytes(b"old")
    protected.chmod(0o444)
    loop.symlink_to(loop)
    for path, reason in (
        (protected, "write-protected"),
        (loop, "loop"),
        (tmp_path, "folder"),
        (protected / "below.npz", "no folder"),
    ):
        status, out, err = run(*EXPLAIN, str(path))
        assert status == 1 and not out and reason in err and err.count("\n") == 1
    assert protected.read_bytes() == b"old"


def test_what_a_method_says_of_itself_is_sound_json(run, register):
    def says(context):
        context.facts["fit"] = float("nan")
        return context.image.astype(float)

    register(METHODS, "test-says", says)
    status, out, _ = run("explain", *SMALL, "--method", "test-says", "--json")
    assert status == 0 and strict(out)["images"][0]["facts"]["fit"] is None


def test_a_method_that_does_not_apply_ends_with_its_reason_and_counts_as_undefined(run):
    flags = [
        *SMALL,
        "--method",
        "patternlocal",
        "--option",
        "kernel=triangular",
        "--option",
        "bandwidth=0.05",
        "--json",
    ]
    status, out, err = run("explain", *flags)
    assert status == 1 and not out and "neighbourhood" in err
    status, out, err = run("score", *flags)
    assert status == 0 and "neighbourhood" in err
    assert strict(out)["emd"] == {"mean": None, "std": None, "n": 0, "undefined": 1}


def test_train_prints_its_record_and_tells_progress_beside_it(run, empty_cache, monkeypatch):
    monkeypatch.setattr(training, "EPOCHS", 1)
    flags = [
        "--scenario",
        "LIN",
        "--background",
        "WHITE",
        "--snr",
        "0.4",
        "--size",
        "8",
        "--samples",
        "400",
        "--model",
        "LLR",
    ]
    status, out, err = run("train", *flags, "--json")
    record = strict(out)
    assert status == 0 and record["origin"] == "trained here" and "validation accuracy" in err
    assert (
        record["accuracy"]
        == model_library.model_record(
            Spec(scenario="LIN", background="WHITE", snr=0.4, size=8, samples=400, model="LLR")
        ).accuracy
    )


def test_the_command_line_runs_as_a_program(python):
    run = python("-m", "core", "score", *SMALL, "--method", "gradient", "--images", "0:2", "--json")
    assert run.returncode == 0, run.stderr
    content = strict(run.stdout)
    assert content["ime"]["n"] == 2 and 0 < content["ime"]["mean"] < 1


SCORE = ("-m", "core", "score", *SMALL, "--method", "gradient")


def test_a_terminal_without_the_characters_still_gets_the_numbers(python):
    run = python(*SCORE, env={"PYTHONIOENCODING": "ascii"})
    assert run.returncode == 0 and r"\xb1" in run.stdout and not run.stderr.count("Traceback"), run.stderr


def test_a_full_disk_under_the_output_is_one_sentence(python):
    with open("/dev/full", "w") as full:
        run = python(*SCORE, stdout=full)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "The output could not be written: No space left on device."
    assert "Traceback" not in run.stderr


def test_without_a_home_the_cache_folder_is_asked_for(python, tmp_path):
    main = "\n".join(
        [
            "import pathlib, sys",
            "def nowhere(): raise RuntimeError('Could not determine home directory.')",
            "pathlib.Path.home = nowhere  # as for a user without an entry among the passwords",
            "from core.__main__ import main",
            f"sys.exit(main({['score', *SMALL, '--method', 'gradient']}))",
        ]
    )
    run = python("-c", main, env={"ATTRIBUTION_LAB_HOME": "", "XDG_CACHE_HOME": ""})
    assert run.returncode == 1 and run.stderr.splitlines()[-1].endswith("Set ATTRIBUTION_LAB_HOME to a folder.")
    assert python("-c", main, env={"ATTRIBUTION_LAB_HOME": str(tmp_path), "XDG_CACHE_HOME": ""}).returncode == 0


@pytest.mark.parametrize("after", [0.3, 1.0, 3.0])
def test_ctrl_c_ends_quietly_at_any_time(after):
    command = [sys.executable, *SCORE, "--images", "0:900"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in err, err
