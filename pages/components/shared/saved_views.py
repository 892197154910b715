"""Saved views: screens by name, kept in the link itself; a file takes them elsewhere."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.types import InputError
from pages.components.shared import choices, fields
from pages.components.shared.frame import ROOT

ERROR = "views_error"
PAGES = ("compare", "regions", "suppressors", "methods", "figure")
LARGEST = 200_000  # bytes of a file of views


def manage(container: DeltaGenerator) -> None:
    """Opens, saves, deletes, downloads and loads views; called once the link is written."""
    state = st.session_state
    with container.expander("Saved views"):
        for text in state.views:
            name, _, address = text.partition("?")
            with st.container(horizontal=True, gap="small", wrap=False, horizontal_alignment="distribute"):
                if st.button(name, key=f"view.{name}", type="tertiary", icon=":material/bookmark:"):
                    _open(address)
                st.button(
                    f"Delete {name}",
                    key=f"delete.{name}",
                    type="tertiary",
                    icon=":material/close:",
                    on_click=_delete,
                    args=(text,),
                )
        st.text_input("Name of this view", key="view_name", max_chars=40, placeholder="Suppressors in XOR")
        st.button(
            "Save this view", icon=":material/bookmark_add:", on_click=_save, args=(_this_screen(),), width="stretch"
        )
        if error := state.get(ERROR):
            st.caption(f":red[{error}]")
        if state.views:
            st.download_button(
                "Download all (json)",
                dumped(state.views),
                "attribution-lab-views.json",
                "application/json",
                on_click="ignore",
                key="download.views",
                width="stretch",
            )
        st.file_uploader(
            "Load views from a file", type=["json"], key="views_file", on_change=_upload, max_upload_size=1
        )


def _this_screen() -> str:
    """The address of this screen and its page, without the list of views."""
    choice = {n: v for n, v in choices.address().items() if n != "views"}
    return urlencode({"page": st.session_state.get("page", PAGES[0])} | choice)


def _open(address: str) -> None:
    given = dict(parse_qsl(address))
    page = given.pop("page", "")
    given["views"] = fields.SEPARATORS["views"].join(st.session_state.views)
    st.switch_page(ROOT / "pages" / f"{page if page in PAGES else PAGES[0]}.py", query_params=given)


def _save(address: str) -> None:
    state = st.session_state
    name = " ".join(state.view_name.split()) or f"View {len(state.views) + 1}"
    _put([*state.views, f"{name}?{address}"])


def _delete(text: str) -> None:
    st.session_state.views = [v for v in st.session_state.views if v != text]


def _put(texts: list[str]) -> None:
    st.session_state.pop(ERROR, None)
    try:
        st.session_state.views = fields.checked_views(texts)
    except InputError as error:
        st.session_state[ERROR] = str(error)


def dumped(views: list[str]) -> str:
    """The views as JSON: their addresses by their names."""
    return json.dumps({"views": dict(v.split("?", 1) for v in views)}, indent=1)


def loaded(data: bytes) -> list[str]:
    """The views in a file that ``dumped`` wrote, or InputError in one sentence."""
    if len(data) > LARGEST:
        raise InputError("This file is too large for saved views, so nothing was read.")
    try:
        views = json.loads(data)["views"]
        if not all(isinstance(address, str) for address in views.values()):
            raise TypeError("an address is a text")
        return fields.checked_views([f"{name}?{address}" for name, address in views.items()])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            str(error)
            if isinstance(error, InputError)
            else "This file holds no saved views: it is not the JSON of Download all."
        ) from None


def _upload() -> None:
    file = st.session_state.get("views_file")
    if file is None:
        return
    try:
        _put([*st.session_state.views, *loaded(file.getvalue())])
    except InputError as error:
        st.session_state[ERROR] = str(error)
