"""Do verdicts for new characters hold on new scripts?  ``python -m studies.scripts RELEASE``.

Characters are classes, scripts superclasses, and one data set is split into halves A and B by three
questions, each many times:

images
    The same characters; the groups of each (its drawings of one design) are split.
classes
    The same scripts; the characters of each are split.
superclasses
    The scripts are split.

On each half tasks are drawn as in a `pooled` set, methods answer them, and the intervals by leaving
out images, classes and superclasses are computed, of accuracies and of paired differences.  Held
against each other are both halves' estimates: |d_A - d_B| and √(h_A² + h_B²).

**Halves of one set are as good as two samples.**  G scripts drawn independently and then split at
random are two independent samples of G/2: which script went where was not known when they were
drawn.  So the share of halvings in which the estimates lie together has the expectation of two
independent experiments.  With effects of scripts that are normal and h Student's half-width, that
is P(|t(G-2)| < t(G/2-1; 97.5 %)): 96.5 % of 18 scripts, 96.9 % of 14, since two halves together
know their spread better than one.  ``test_scripts.py`` simulates it.

**The error of a share** has two parts, added in squares.  Finitely many halvings: the spread
between them.  One set of scripts: every script is left out in turn, of the half that has it, with
all of its tasks, and the share is counted anew on the first 50 halvings (the jackknife, less what
finitely many halvings make of it).  Methods and their pairs are not taken for independent.  Where
effects are normal, it is 0.6 points of a share of 96.5 %, and shares of sets of 18 scripts differ
by 0.4: halves of one set lie together about equally often whatever the set.  It does not say how
other methods would do, nor another collection of fonts.

A task of all characters whose classes lie in one half is a uniform task of that half.  So the
questions about classes and superclasses share one large set of tasks, answered once.
"""
