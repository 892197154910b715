"""Everything on screen as a link, as a command and as Python, each ready to be copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlencode

import streamlit as st

from core.registry import METHODS, non_default_fields
from core.types import Spec
from pages.components.shared import choices


@st.fragment
def popover(written: Callable[[], tuple[str, str]]) -> None:
    """A button that opens link, command and Python, each with a button to copy it; written when it is opened."""
    place = st.popover("Share", icon=":material/link:", key="share", on_change="rerun")
    if not place.open:
        return
    command, python = written()
    with place:
        st.markdown("**Link** to this screen")
        st.code(link(), language=None, wrap_lines=True)
        st.markdown("**Command** for the same without a browser")
        st.code(command, language="sh", wrap_lines=True)
        st.markdown("**Python**")
        st.code(python, language="python", wrap_lines=True)


def link() -> str:
    """The address of this screen with every choice in it."""
    address = choices.address()
    return (st.context.url or "").split("?")[0] + (f"?{urlencode(address)}" if address else "")


def of_maps(specs: Sequence[Spec]) -> tuple[str, str]:
    """The command lines, and the Python, that give these maps and their scores."""
    commands = [f"python -m core score {_flags(s)} --images {s.image}:{s.image + 1}" for s in specs]
    python = ["from core import Spec, explain, score", ""]
    python += [f"a = explain({_python(s)})\nprint(a.spec.method, score(a).values)" for s in specs]
    return "\n".join(commands), "\n".join(python)


def _python(spec: Spec) -> str:
    """The expression that makes a Spec."""
    given = non_default_fields(spec)
    further = {name: given.pop(name) for name, _ in spec.data_options if name in given}
    given |= {"data_options": further, "method": spec.method, "options": dict(spec.options)}
    return f"Spec({', '.join(f'{name}={value!r}' for name, value in given.items() if value != {})})"


def _flags(spec: Spec) -> str:
    """The flags of the command line that describe a Spec, without its image."""
    fields = {name: value for name, value in non_default_fields(spec).items() if name not in ("image", "method")}
    flags = [f"--{name.replace('_', '-')} {value}" for name, value in fields.items()] + [f"--method {spec.method}"]
    return " ".join([*flags, *(f"--option {n}={v}" for n, v in METHODS[spec.method].changed(spec.options).items())])
