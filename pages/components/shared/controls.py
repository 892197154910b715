"""The controls of Compare: data and model in the sidebar, the image above the panels, options of a method."""

from __future__ import annotations

import random

import streamlit as st

from core import model_library, pipeline
from core.figures.style import SCALES
from core.registry import DATASETS, METHODS, MODELS, Option, models_for
from core.types import SPEC_CHOICES, Spec
from pages.components.shared import choices, fields
from pages.components.shared.number_field import number_field

GRID = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WORDS = {
    "default": "As published",
    "union": "All shapes",
    "shown": "Shown shapes",
    "margin": "Margin",
    "probability": "Probability",
    "predicted": "Predicted class",
    "true": "True class",
    "panel": "Per panel",
    "shared": "Shared",
    "raw": "Raw",
}


def data_and_model() -> None:
    """The sidebar: data set, scenario, background, size, SNR, model, and what is explained."""
    with st.sidebar:
        st.subheader("Data")
        st.selectbox(
            "Data set",
            list(DATASETS),
            format_func=lambda n: DATASETS[n].label,
            key="dataset",
            on_change=lambda: choices.to_data(st.session_state),
            help=" ".join(f"**{d.label}**: {d.summary}" for d in DATASETS.values()),
        )
        data = DATASETS[st.session_state.dataset]
        for option in fields.data_options(data.name).values():
            data_widget(option)
        st.subheader("Model")
        fitting = models_for(data.name)
        st.segmented_control(
            "Kind",
            fitting,
            key="model",
            required=True,
            on_change=to_ready_snr,
            label_visibility="collapsed",
            width="stretch",
            help=" ".join(f"**{name}**: {MODELS[name].summary}" for name in fitting),
        )
        accuracy(choices.spec())
        with st.expander("What is explained, and the truth" if data.has_ground_truth else "What is explained"):
            for name, label, text in (
                (
                    "output",
                    "Explained output",
                    "The margin is the logit difference; the probability saturates "
                    "when the model is sure, and its gradient vanishes.",
                ),
                ("target", "Of which class", "The class the model predicts, or the label."),
                (
                    "truth",
                    "Important pixels",
                    "As published: all shapes of the scenario (the absence of a shape "
                    "tells something too); RIGID: the shape in this image.",
                ),
            )[: 3 if data.has_ground_truth else 2]:
                st.selectbox(label, SPEC_CHOICES[name], key=name, help=text, format_func=WORDS.get)
            number_field(
                "seed", "Seed of random methods", 0, 2**31 - 1, help="The same seed gives the same map, everywhere."
            )


def data_widget(option: Option) -> None:
    """The widget of a data set's option, whose value lies in the session under its name."""
    if option.name == "snr":
        snr_slider()
    elif option.choices:
        st.segmented_control(
            option.label,
            option.choices,
            key=option.name,
            help=option.help,
            required=True,
            on_change=to_ready_snr,
            width="stretch",
            format_func=option.text if option.form else str,
        )
    elif isinstance(option.default, bool):
        st.toggle(option.label, key=option.name, help=option.help, on_change=to_ready_snr)
    else:
        whole = isinstance(option.default, int)
        low, high = (int(option.low), int(option.high)) if whole else (option.low, option.high)
        st.slider(
            option.label,
            low,
            high,
            key=option.name,
            help=option.help,
            on_change=to_ready_snr,
            step=1 if whole else 0.05 if option.high > 1 else 0.01,
        )


def snr_slider() -> None:
    """SNR values, and those with a ready model beside them."""
    # What is ready does not stand in the labels: the browser sends labels back, and they must not change.
    ready = ready_snrs(choices.spec())
    values = sorted({*GRID, *ready, st.session_state.snr})
    st.select_slider(
        "SNR",
        values,
        key="snr",
        format_func=lambda v: f"{v:g}",
        help="The share of the shape in the mixture with the noise. A value without a trained model "
        "can be trained here in a minute or more.",
    )
    st.caption(f"Trained {st.session_state.model}: {', '.join(f'{v:g}' for v in ready) or 'none'}")


def ready_snrs(spec: Spec) -> list[float]:
    """SNR values for which the Spec's kind of model is trained."""
    records = model_library.known_models(spec)
    return sorted({r.spec.snr for r in records if r.spec.model == spec.model and r.available})


def to_ready_snr() -> None:
    """After a change of data or model: the nearest SNR with a trained model, when there is one."""
    spec = choices.spec()
    ready = ready_snrs(spec) if "snr" in fields.data_options(spec.dataset) else []
    if ready and spec.snr not in ready:
        st.session_state.snr = min(ready, key=lambda snr: abs(snr - spec.snr))


def accuracy(spec: Spec) -> None:
    """The model's test accuracy, with a warning where scores mean little."""
    record = model_library.model_record(spec)
    if record and record.available:
        st.caption(f"Test accuracy **{record.accuracy:.1%}**")
        if DATASETS[spec.dataset].has_ground_truth and record.accuracy <= model_library.GENERALISES:
            st.warning("Below 90 %: the model does not generalise, so scores are not meaningful.")
    elif record:
        st.caption(f"Not available: training reached {record.accuracy:.1%} on test images, below 90 %.")


def image_bar(spec: Spec) -> int | None:
    """Which image: number, previous, next, random, filter. None when no image passes the filter."""
    filters, classes = fields.filters(spec.dataset), DATASETS[spec.dataset].classes
    passing = pipeline.choose(spec, **filters[st.session_state.images])
    total = len(pipeline.dataset(spec).test)
    if st.session_state.image >= total:
        choices.tell(f"Image {st.session_state.image} does not exist: the test split has images 0 to {total - 1}.")
        st.session_state.image = total - 1
    elif passing and st.session_state.image not in passing:
        st.session_state.image = min(passing, key=lambda i: abs(i - st.session_state.image))

    for name, size in zip(("row", "column"), pipeline.dataset(spec).test.x.shape[1:]):
        if st.session_state[name] is not None and st.session_state[name] >= size:
            choices.tell(
                f"Pixel {name} {st.session_state[name]} lies outside the image, whose {name}s are 0 to {size - 1}."
            )
            st.session_state[name] = None

    def go(step: int) -> None:
        image = st.session_state.image
        ahead = [i for i in passing if (i > image if step > 0 else i < image)] or passing  # else round the end
        st.session_state.image = ahead[0] if step > 0 else ahead[-1]

    def go_anywhere() -> None:
        st.session_state.image = random.choice(passing)

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        number_field("image", "Test image", 0, total - 1, width=130)
        st.button("Previous", icon=":material/chevron_left:", on_click=go, args=(-1,), disabled=not passing)
        st.button("Next", icon=":material/chevron_right:", on_click=go, args=(1,), disabled=not passing)
        st.button("Random", icon=":material/shuffle:", on_click=go_anywhere, disabled=not passing)
        st.selectbox(
            "Show",
            list(filters),
            key="images",
            width=140,
            format_func=lambda name: (
                named(classes[filters[name]["label"]], name) if "label" in filters[name] else name
            ),
        )
        st.markdown(
            f"<div class='al-quiet' style='padding-bottom:1.5rem'>{len(passing)} of {total} images</div>",
            unsafe_allow_html=True,
        )
    return st.session_state.image if passing else None


def named(name: str, number: str) -> str:
    """A class by its number, and by its name where that says more."""
    return number if number.endswith(name) else f"{number}, {name}"


def view_bar() -> None:
    """The choice of methods, and of how their maps are drawn."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.multiselect("Methods", list(METHODS), key="methods", format_func=lambda n: METHODS[n].label)
        with st.popover("View", icon=":material/visibility:"):
            st.segmented_control(
                "Colour scale",
                list(SCALES),
                key="scale",
                required=True,
                format_func=WORDS.get,
                help=" ".join(f"**{WORDS[n]}**: {text}." for n, text in SCALES.items()),
            )
            st.segmented_control(
                "Order", fields.sorts(), key="sort", required=True, help="As chosen, or the best score first."
            )
            st.toggle("Outline of the important pixels", key="outline")
            st.toggle("Scores as a table", key="table")


def method_options(method: str) -> None:
    """A method's name, with its options in a form behind it; nothing is computed before Apply."""
    entry = METHODS[method]
    # The first words are for screen readers; the style sheet shows the name alone.
    popover = st.popover(
        f"Options of **{entry.label}**", type="tertiary", on_change="rerun", width="stretch", key=f"{method}.popover"
    )
    if not popover.open:
        return
    given = entry.check(choices.method_options(method))
    # The value in use is part of the key: a form never shows what was in use before.
    keys = {o.name: f"{method}.{o.name}={given[o.name]}" for o in entry.options if o.matters(given)}

    def apply() -> None:
        choices.set_method_options(method, {**given, **{name: st.session_state[key] for name, key in keys.items()}})

    with popover:
        st.markdown(f"**{entry.label}**: {entry.summary}")
        with st.form(f"{method}.form", border=False):
            for option in entry.options:
                if option.name in keys:
                    option_widget(keys[option.name], option, given[option.name])
            with st.container(horizontal=True):
                st.form_submit_button("Apply", type="primary", on_click=apply)
                st.form_submit_button("Defaults", on_click=choices.set_method_options, args=(method, {}))


def option_widget(key: str, option: Option, value):
    """The widget that suits an option: a list, a switch, a number or a slider."""
    text = option.help
    if isinstance(option.default, bool):
        return st.toggle(option.label, value, key=key, help=text)
    if option.choices:
        return st.selectbox(option.label, option.choices, option.choices.index(value), key=key, help=text)
    if isinstance(option.default, int):
        return st.number_input(option.label, int(option.low), int(option.high), value, key=key, help=text)
    if option.log:
        return st.number_input(
            option.label, option.low, option.high, value, step=value / 10, format="%g", key=key, help=text
        )
    return st.slider(
        option.label, option.low, option.high, value, step=0.05 if option.high > 1 else 0.01, key=key, help=text
    )
