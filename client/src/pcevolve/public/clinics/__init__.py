"""Several owners, one summed release: what everybody may know of it.

Owners answer a release with their sums on a grid of integers, noisy and masked, so that only the sum of all can be
read. Here is what a plan says of them, what they sign, and how their answers add up; their keys are in ``keeper``.
"""
