"""Public facts of a run with several owners, who make one summed release.

Each owner answers a release with the sums of its own data, on a grid of integers. The sums are noisy and masked, so
that only the total of all owners can be read. This package contains the owners' section of the plan, the statements
that they sign, and the addition of their answers. The owners' private keys are in ``keeper``.
"""
