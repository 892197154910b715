"""Pin and compare: a result A stays while everything else may change; the present result B appears beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from core import map_statistics, model_library, pipeline
from core.figures.style import scaled
from core.registry import METHODS, METRICS
from core.types import Attribution, InputError, NotApplicable, Spec
from pages.components.shared import choices, fields
from pages.components.shared.map_panel import WIDTH, PanelStyle, map_panel, panel_title, show, show_signed, small_text
from pages.components.shared.result_panels import Result


def look(drawn: Sequence[Result], spec: Spec, style: PanelStyle) -> None:
    """Pins one of the results on screen, or shows the pinned one beside the present one."""
    _pin_bar(drawn)
    pinned = st.session_state.pin
    if not pinned:
        small_text("Nothing is pinned yet.")
        return
    try:
        a = pipeline.explain(fields.read_spec(pinned))
        b = pipeline.explain(choices.of_method(spec, a.spec.method))
    except NotApplicable as reason:
        st.info(f"Does not apply here: {reason}")
    except InputError as error:
        st.warning(f"A and B cannot be compared. {error}")
    else:
        _maps(a, b, style)
        _scores(a, b)
        changes = differences(a.spec, b.spec)
        small_text(
            f"Changed from A to B: {'; '.join(changes)}." if changes else "A and B are the same: change any setting."
        )


def _pin_bar(drawn: Sequence[Result]) -> None:
    """The choice of a result, and buttons that pin and unpin it."""

    def pin(text: str) -> None:
        st.session_state.pin = text

    attributions = {r.method: r.attribution for r in drawn}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        method = st.selectbox(
            "Result",
            list(attributions),
            format_func=lambda name: METHODS[name].label,
            width=240,
            help="Pin a result as A, then change image, data, model or options: B is the same method with those.",
        )
        st.button(
            "Pin as A", icon=":material/keep:", on_click=pin, args=(fields.spec_text(attributions[method].spec),)
        )
        if st.session_state.pin:
            st.button("Unpin", icon=":material/keep_off:", on_click=pin, args=("",))


def _maps(a: Attribution, b: Attribution, style: PanelStyle) -> None:
    """Both maps, each scaled to its own peak, and their difference."""
    label = METHODS[a.spec.method].label
    with st.container(horizontal=True, gap="small", key="pinned"):
        for name, attribution in (("A", a), ("B", b)):
            with st.container(width=WIDTH, gap="xsmall", key=f"pinned.{name}"):
                panel_title(f"{name} · {label}")
                show(
                    map_panel(attribution, scaled(attribution.values), 1.0, style),
                    f"pinned.map.{name}",
                    f"{label} map of test image {attribution.spec.image}.",
                )
                spec = attribution.spec
                small_text(f"{model_library.data_name(spec)}, {spec.model}, image {spec.image}")
        with st.container(width=WIDTH, gap="xsmall", key="pinned.difference"):
            panel_title("B − A")
            if a.values.shape == b.values.shape:
                _difference(a, b, style)
            else:
                st.caption("The maps differ in size.")


def _difference(a: Attribution, b: Attribution, style: PanelStyle) -> None:
    difference = scaled(b.values) - scaled(a.values)
    show_signed(
        difference,
        style,
        "pinned.map.difference",
        mask=style.mask_of(b),
        alt=f"Difference of the two maps, at most {abs(difference).max():.3g} of their largest value.",
    )
    correlation = map_statistics.correlation(a.values, b.values)
    small_text(
        "Both divided by their largest value; correlation "
        + ("undefined: one map is constant" if math.isnan(correlation) else f"{correlation:.3f}")
    )


def _scores(a: Attribution, b: Attribution) -> None:
    """The scores of both in a table, and which is better."""
    scores = pipeline.score(a), pipeline.score(b)
    rows = []
    for name, metric in METRICS.items():
        of_a, of_b = (score[name] for score in scores)
        rows.append(
            {
                "Score": metric.label,
                "A": of_a,
                "B": of_b,
                "B − A": of_b - of_a,
                "": _verdict(of_a, of_b, metric.lower_is_better),
            }
        )
    st.dataframe(
        rows,
        hide_index=True,
        width=520,
        key="pinned.scores",
        column_config={column: st.column_config.NumberColumn(format="%.4f") for column in ("A", "B", "B − A")},
    )


def _verdict(a: float, b: float, lower_is_better: bool) -> str:
    if math.isnan(a) or math.isnan(b):
        return "undefined"
    if a == b:
        return "the same"
    return "B is better" if (b < a) == lower_is_better else "A is better"


def differences(a: Spec, b: Spec) -> list[str]:
    """Every field and option in which two Specs differ: ``image 0 → 6``."""
    of_a, of_b = (s.to_dict() for s in (a, b))
    of_a, of_b = (
        {
            **{n: v for n, v in values.items() if n not in ("options", "data_options")},
            **values.get("data_options", {}),
            **values["options"],
        }
        for values in (of_a, of_b)
    )
    return [
        f"{name.replace('_', ' ')} {of_a.get(name, '–')} → {of_b.get(name, '–')}"
        for name in dict.fromkeys([*of_a, *of_b])
        if of_a.get(name) != of_b.get(name)
    ]
