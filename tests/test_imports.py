"""Who may import whom, read from the source; and that importing computes nothing."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOORS = {
    "core",
    "core.pipeline",
    "core.regions",
    "core.studio",
    "core.lessons",
    "core.model_library",
    "core.keys",
    "core.map_statistics",
    "core.figures",
    "core.types",
    "core.registry",
    "core.processors",
    "core.quiet",
}
SOURCES = sorted(
    p.relative_to(ROOT) for p in [*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]
)


def module_of(path):
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exists(module):
    path = ROOT.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def tree_of(path):
    return ast.parse((ROOT / path).read_text())


def imports(path):
    """Full names of all modules a file imports, also in functions; ``from core import store`` is core.store."""
    found = set()
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            own = base.split(".")[0] in ("core", "pages")
            found |= {full if own and exists(full := f"{base}.{a.name}") else base for a in node.names}
    return found


def within(module, *packages):
    return any(module == p or module.startswith(p + ".") for p in packages)


def files(*packages):
    return [pytest.param(p, id=str(p)) for p in SOURCES if within(module_of(p), *packages)]


def test_the_reader_of_imports_sees_what_it_must():
    assert {"core.store", "core.models", "core.methods.context", "numpy"} <= imports(Path("core/pipeline.py"))
    assert "captum.attr" in imports(Path("core/methods/gradient.py"))  # inside a function
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", files("core"))
def test_core_never_imports_streamlit_or_pages(path):
    assert not [m for m in imports(path) if within(m, "streamlit", "pages", "app")]


@pytest.mark.parametrize("path", files("pages", "app"))
def test_pages_compute_nothing_and_import_of_core_only_the_doors(path):
    assert not [m for m in imports(path) if within(m, "torch", "captum", "ot", "safetensors", "numpy", "matplotlib")]
    assert not [m for m in imports(path) if within(m, "core") and m not in DOORS and not within(m, "core.figures")]


def test_pages_have_three_floors():
    """A script stands on its page's folder, a folder on what pages share, and that on nothing else of pages."""

    def floor(module):  # scripts, a page's folder, what they share
        parts = module.split(".")
        return parts[2] if within(module, "pages.components") and len(parts) > 2 else "script"

    breaches = {
        str(p): bad
        for p in SOURCES
        if within(module_of(p), "pages")
        and (
            bad := [
                m
                for m in imports(p)
                if within(m, "pages")
                and m != "pages.components"
                and not (
                    floor(m) == "shared"
                    or floor(m) == floor(module_of(p)) != "script"
                    or floor(module_of(p)) == "script" != floor(m)
                )
            ]
        )
    }
    assert not breaches
    assert {floor(module_of(p)) for p in SOURCES if within(module_of(p), "pages.components")} == {
        "script",
        "shared",
        "compare",
        "regions",
        "suppressors",
        "methods",
        "studio",
    }


@pytest.mark.parametrize("family", ["datasets", "methods", "metrics", "models"])
def test_the_families_do_not_import_each_other(family):
    others = [
        f"core.{f}"
        for f in (
            "datasets",
            "methods",
            "metrics",
            "models",
            "pipeline",
            "figures",
            "regions",
            "lessons",
            "experiments",
            "sweep",
            "tune",
        )
        if f != family
    ]
    breaches = {
        str(p.values[0]): bad
        for p in files(f"core.{family}")
        if (bad := [m for m in imports(p.values[0]) if within(m, *others)])
    }
    assert not breaches


@pytest.mark.parametrize("path", files("core.figures"))
def test_figures_know_types_and_caches_only(path):
    assert not [m for m in imports(path) if within(m, "torch", "captum", "matplotlib.pyplot")]
    known = "core.types", "core.cache", "core.figures"
    assert not [m for m in imports(path) if within(m, "core") and not within(m, *known)]


@pytest.mark.parametrize(
    "path", [Path(f"core/{name}.py") for name in ("types", "cache", "memory", "registry", "store")], ids=str
)
def test_the_ground_floor_stands_on_nothing_else(path):
    assert not [m for m in imports(path) if within(m, "core") and not within(m, "core.types", "core.cache")]


@pytest.mark.parametrize("path", files("core"))
def test_core_neither_imports_tests_nor_names_their_files(path):
    assert not [m for m in imports(path) if within(m, "tests")]
    assert not [
        node.value
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (node.value == "tests" or "tests/" in node.value)
    ]


@pytest.mark.parametrize("path", files("core"))
def test_only_experiments_and_commands_stand_on_experiments(path):
    if not within(module_of(path), "core.experiments", "core.commands"):
        assert not [m for m in imports(path) if within(m, "core.experiments")]


@pytest.mark.parametrize("path", files("core", "pages", "app"))
def test_nothing_reads_or_writes_pickles(path):
    assert not [m for m in imports(path) if within(m, "pickle", "dill", "cloudpickle", "marshal", "shelve")]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and node.value.value is False, f"line {node.value.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called = f"{node.value.id}.{node.attr}"
            assert called not in ("torch.load", "torch.save", "pd.read_pickle"), f"line {node.lineno}"


def test_importing_core_sets_no_seed_reads_no_data_and_writes_nothing(python):
    code = """
import sys
import numpy as np, torch
state = lambda: (torch.initial_seed(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(),
                 torch.get_num_threads())
before = state()
opened = []
sys.addaudithook(lambda event, args: opened.append((str(args[0]), str(args[1]))) if event == "open" else None)
import core, core.pipeline, core.__main__, core.figures.screen, core.figures.paper
assert before == state(), "state changed"
import os
home = os.environ["ATTRIBUTION_LAB_HOME"]
bad = [o for o in opened if "assets" in o[0] and o[0].startswith(os.getcwd()) or o[0].startswith(home)]
assert not bad, bad
assert "ot" not in sys.modules and "streamlit" not in sys.modules and "matplotlib.pyplot" not in sys.modules
print("sound")
"""
    run = python("-c", code)
    assert run.stdout.strip() == "sound", run.stderr


def test_importing_core_alone_fills_every_registry(python):
    done = python(
        "-c", "import core; print([len(r) > 0 for r in (core.DATASETS, core.MODELS, core.METHODS, core.METRICS)])"
    )
    assert done.stdout.strip() == "[True, True, True, True]", done.stderr


@pytest.mark.parametrize("path", files("pages", "app"))
def test_pages_reach_no_module_through_a_doors_attribute(path):
    """``pipeline.models.find`` would walk around the door as surely as importing core.models."""
    inner = {p.stem for p in (ROOT / "core").iterdir() if p.suffix == ".py" or p.is_dir()}
    doors = {door.rpartition(".")[2] for door in DOORS if "." in door}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in doors:
            assert node.attr not in inner, f"{node.value.id}.{node.attr}, line {node.lineno}"
