"""Public facts of a run with several owners, who make one summed release.

Owners answer a release with their sums on a grid of integers, noisy and masked, so that only the sum of all
can be read. This package has their part of the plan, what they sign, and how their answers add up; their
private keys are in ``keeper``.
"""
