"""Suppressors: a lesson in steps. Why a perfect model uses uninformative variables, and which explanations notice."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

title_row = st.container(horizontal=True, vertical_alignment="center")
title_row.title("Suppressors", anchor=False, width="content")
with frame.opening():
    from pages.components.shared import choices, messages
    from pages.components.suppressors import page

choices.restore()
choices.write()
page.style()
with title_row:
    page.top_bar()
page.choose_step()
messages.link_notices()
page.show_step()
