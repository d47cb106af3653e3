"""How often leave-one-out intervals hold: ``python -m studies.coverage leave-one-out --help``.

:mod:`.lines` has the kinds of data sets, :mod:`.worlds` what their classes and images are drawn
from, :mod:`.truths` what the intervals should hold, :mod:`.data_sets` one data set and its
intervals, :mod:`.runs` many of them in several sittings, and :mod:`.tables` what they show.
:mod:`.holm` asks for false claims and found differences among six methods.
"""
