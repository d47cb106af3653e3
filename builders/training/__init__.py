"""Training of few-shot methods on images of classes that no task shows.

The ten methods that FewSTAB (Zheng et al., ECCV 2024) compares, written from their papers:

=============  ==========================================================================
episodes       ProtoNet, DN4, R2D2, CAN, ANIL, BOIL, LEO
classes        Baseline++, RFS
both           RENet
=============  ==========================================================================

A method (:mod:`builders.training.method`) holds a network (:mod:`builders.training.networks`),
gives the loss of an episode or of labelled images, and the scores of a task's queries.
"""
