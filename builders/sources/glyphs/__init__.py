"""Characters as fonts draw them: the renderings behind the source `glyphs`.

A character is a class, a font's drawing of it an image, its script the superclass.  What is frozen
(packages, characters and their splits, families that share a design) lies in `collection.json`,
which :mod:`builders.sources.glyphs.survey` makes from the fetched packages.
"""
