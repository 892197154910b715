"""Training a model beside the page, in a process of its own that Cancel ends."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading

import streamlit as st

from core import model_library
from core.registry import DATASETS, canonical
from core.types import Spec
from pages.components.shared import controls
from pages.components.shared.frame import ROOT


class TrainingJob:
    """``python -m core train`` for one Spec, in a process of its own, with its last ``word`` of progress.

    The word is (done, total, text), as core.commands.common.progress writes it to stderr.
    """

    def __init__(self, spec: Spec):
        command = shlex.split(model_library.train_command(spec))[1:]
        self.key, self.word = canonical(spec).model_key(), (0, 1, "starting")
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stderr:
            count, _, text = line.strip().partition(" ")
            done, slash, total = count.partition("/")
            if slash and done.isdigit() and total.isdigit():
                self.word = int(done), int(total), text
            elif line.strip():
                self.word = (*self.word[:2], line.strip())

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def failed(self) -> bool:
        return self.process.poll() not in (None, 0)

    def cancel(self) -> None:
        """Ends the process; nothing half-trained is kept."""
        self.process.kill()
        self.process.wait()


def train_panel(spec: Spec) -> None:
    """Offers to train the model a Spec means; shows progress and Cancel while that runs."""
    job: TrainingJob | None = st.session_state.get("training")
    if job and job.key == canonical(spec).model_key():
        if job.running:
            _watch()
            return
        del st.session_state["training"]
        if job.failed:
            st.error(f"The training stopped: {job.word[2]}")
        else:
            st.rerun()
    record, ready = model_library.model_record(spec), controls.ready_snrs(spec)
    where = DATASETS[spec.dataset].describe(spec)
    if record:
        st.info(
            f"No {spec.model} for {where}: training reached {record.accuracy:.1%} on test images. Below 90 % a "
            "model has not learnt the task, so scores of its explanations mean little."
        )
    else:
        st.info(
            f"No {spec.model} has been trained for {where}."
            + (f" Trained at SNR {', '.join(f'{s:g}' for s in ready)}." if ready else "")
        )
    busy = job is not None and job.running
    if st.button(
        f"Train this model ({'a minute or more' if spec.size == 64 else 'about a minute'})",
        type="primary",
        icon=":material/model_training:",
        disabled=busy,
        help="Another training is running." if busy else None,
    ):
        st.session_state["training"] = TrainingJob(spec)
        st.rerun()


@st.fragment(run_every=0.5)
def _watch() -> None:
    job: TrainingJob | None = st.session_state.get("training")
    if job is None or not job.running:
        st.rerun()
        return
    done, total, text = job.word  # at once: another thread reads on
    st.progress(min(done / total, 1.0), f"Training {job.key.model}: {done} of at most {total} epochs, {text}")
    if st.button("Cancel", icon=":material/close:"):
        job.cancel()
        del st.session_state["training"]
        st.rerun()
