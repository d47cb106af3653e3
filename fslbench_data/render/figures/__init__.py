"""Figures: their rows, their charts (Vega-Altair) and files of them.

``rows`` turns reports into lists of plain dictionaries, ``charts`` draws such rows, ``files``
writes PDF, SVG and PNG.  The report page (:mod:`fslbench_data.render.page`) draws the same charts
in a browser.
"""
