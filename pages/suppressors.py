"""Suppressors: a lesson in steps. Why a perfect model uses what tells nothing, and which explanations notice."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

top = st.container(horizontal=True, vertical_alignment="center")
top.title("Suppressors", anchor=False, width="content")
with frame.opening():
    from pages.components.suppressors import page

page.page(top)
