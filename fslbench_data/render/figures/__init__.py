"""Figures: their rows, their charts (Vega-Altair) and files of them.

``rows`` turns reports into lists of plain dictionaries, ``charts`` draws such rows, and ``files``
writes PDF, SVG and PNG.
"""
