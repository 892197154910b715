"""Methods: a card for every method, metric, data set and model, with a live example; and a glossary."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Methods", anchor=False)
with frame.opening():
    from pages.components.methods import cards
    from pages.components.shared import choices, messages

choices.restore()
choices.write()
cards.style()
cards.choose_family()
messages.link_notices()
cards.show_family()
