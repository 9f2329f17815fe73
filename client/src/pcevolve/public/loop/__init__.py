"""The loop of a run: which requests are due and what they may carry, and what came of them.

- ``evolution``: the loop itself; ``rules``: whether a call may leave now, and with which bytes.
- ``lineage``: who came of whom, and which candidates stand for choice.
- ``usable``: whether enough came to choose from; ``usability``: the same in words.
"""
