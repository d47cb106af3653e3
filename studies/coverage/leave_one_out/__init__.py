"""How often leave-one-out intervals hold: ``python -m studies.coverage leave-one-out --help``.

:mod:`.lines` has the kinds of data sets and what their classes and images are drawn from,
:mod:`.data_sets` one data set, its intervals and what these should hold, :mod:`.runs` many of them
in several sittings, and their tables.  :mod:`.holm` asks for false claims and found differences
among six methods.
"""
