"""Pin and compare: a result A stays, whatever is changed; the present result B stands beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import streamlit as st

from core import model_library, pipeline
from core.figures.heatmap import heatmap
from core.registry import METHODS, METRICS
from core.types import Attribution, InputError, NotApplicable, Spec
from pages.components.shared import choices, fields
from pages.components.shared.map_panel import WIDTH, View, say, show, signed, title
from pages.components.shared.result_panels import Result


def look(found: Sequence[Result], spec: Spec, view: View) -> None:
    """Pins one of the results on screen, or shows the pinned one beside the present one."""
    state, drawn = st.session_state, [r for r in found if r.attribution]

    def pin(text: str) -> None:
        state.pin = text

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        names = [r.method for r in drawn]
        method = st.selectbox("Result", names, format_func=lambda n: METHODS[n].label, width=240,
                              help="Pin one as A. Then change image, data, model or options: B is its method there.")
        here = next(r.attribution for r in drawn if r.method == method)
        st.button("Pin as A", icon=":material/keep:", on_click=pin, args=(fields.spec_text(here.spec),))
        if state.pin:
            st.button("Unpin", icon=":material/keep_off:", on_click=pin, args=("",))
    if not state.pin:
        say("Nothing is pinned yet.")
        return
    try:
        a = pipeline.explain(fields.read_spec(state.pin))
        b = pipeline.explain(choices.of_method(spec, a.spec.method))
    except NotApplicable as reason:
        st.info(f"Does not apply here: {reason}")
    except InputError as error:
        st.warning(f"A and B cannot be compared. {error}")
    else:
        _beside(a, b, view)


def _beside(a: Attribution, b: Attribution, view: View) -> None:
    label = METHODS[a.spec.method].label
    with st.container(horizontal=True, gap="small", key="pinned"):
        for name, found in (("A", a), ("B", b)):
            with st.container(width=WIDTH, gap="xsmall", key=f"pinned.{name}"):
                title(f"{name} · {label}")
                _map(found, view, f"pinned.map.{name}")
                say(f"{model_library.data_name(found.spec)}, {found.spec.model}, image {found.spec.image}")
        with st.container(width=WIDTH, gap="xsmall", key="pinned.difference"):
            title("B − A")
            if a.values.shape == b.values.shape:
                difference = _scaled(b.values) - _scaled(a.values)
                signed(difference, view, "pinned.map.difference",
                       f"Difference of the two maps, at most {np.abs(difference).max():.3g} of their largest value.",
                       mask=b.mask if view.outline else None)
                say(f"Both divided by their largest value; correlation {_correlation(a.values, b.values)}")
            else:
                st.caption("The maps have different sizes.")
    scores = pipeline.score(a), pipeline.score(b)
    st.dataframe([{"Score": metric.label, "A": scores[0][name], "B": scores[1][name],
                   "B − A": scores[1][name] - scores[0][name], "": _verdict(name, *(s[name] for s in scores))}
                  for name, metric in METRICS.items()], hide_index=True, width=520, key="pinned.scores",
                 column_config={n: st.column_config.NumberColumn(format="%.4f") for n in ("A", "B", "B − A")})
    changed = differences(a.spec, b.spec)
    say(f"Changed from A to B: {'; '.join(changed)}." if changed else "A and B are the same: change anything.")


def _map(found: Attribution, view: View, key: str) -> None:
    colours = view.theme.signed if found.signed else view.theme.magnitude
    show(heatmap(_scaled(found.values), 1.0, colours, view.theme, signed=found.signed,
                 mask=found.mask if view.outline else None),
         key, f"{METHODS[found.spec.method].label} map of test image {found.spec.image}.")


def _scaled(values: np.ndarray) -> np.ndarray:
    return values / (float(np.abs(values).max()) or 1.0)


def _correlation(a: np.ndarray, b: np.ndarray) -> str:
    return f"{np.corrcoef(a.ravel(), b.ravel())[0, 1]:.3f}" if np.ptp(a) and np.ptp(b) else "undefined: a map is flat"


def _verdict(name: str, a: float, b: float) -> str:
    if np.isnan(a) or np.isnan(b):
        return "undefined"
    if a == b:
        return "the same"
    return "B is better" if (b < a) == METRICS[name].lower_is_better else "A is better"


def differences(a: Spec, b: Spec) -> list[str]:
    """Every field and option in which two Specs differ, as words."""
    names = [f.name for f in dataclasses.fields(Spec) if f.name != "options"]
    said = [f"{n.replace('_', ' ')} {getattr(a, n)} → {getattr(b, n)}" for n in names
            if getattr(a, n) != getattr(b, n)]
    one, other = dict(a.options), dict(b.options)
    return said + [f"{n.replace('_', ' ')} {one.get(n, '–')} → {other.get(n, '–')}" for n in sorted({*one, *other})
                   if one.get(n) != other.get(n)]
