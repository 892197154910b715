"""Figures of Attributions: ``heatmap`` and ``screen`` for the browser, ``paper`` for print (matplotlib)."""
