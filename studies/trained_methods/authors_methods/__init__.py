"""Trained methods beside the code that FewSTAB's authors released.

``python -m studies.trained_methods.authors_methods CHECKOUT``; CHECKOUT is a clone of
github.com/gtzheng/FewSTAB, whose methods are LibFewShot's.  A module with ``compare(checkout)``
loads the same weights into theirs and ours, runs both on the same tensors, and yields method, what
was compared, of what, and the largest absolute difference.
"""
