"""Figures of Attributions: ``screen`` for the browser (plotly), ``paper`` for print (matplotlib)."""
