"""How many processors are used: no more than this process may run on, no more than its container is given."""

import os

import pytest

from core import processors


@pytest.mark.parametrize(
    "files, expected",
    [
        ({}, 4),
        ({"cpu.max": "max 100000"}, 4),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "10000 100000"}, 1),
        ({"cpu.max": "900000 100000"}, 4),
        ({"cpu.max": "nonsense"}, 4),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 4),
    ],
    ids=str,
)
def test_a_container_s_limit_is_kept(tmp_path, monkeypatch, files, expected):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(processors, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 5})
    assert processors.processors() == expected


def test_on_one_processor_there_is_one_worker(python):
    affinity = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    run = python("-c", f"{affinity}; from core.processors import processors; print(processors())")
    assert run.stdout == "1\n", run.stderr
