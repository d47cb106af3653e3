"""Draw the tasks of each suite, from sizes of classes and a seed."""
