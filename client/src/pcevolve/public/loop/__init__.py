"""The loop of a run: which requests are due, what they may carry, and what was received.

- ``evolution``: the loop itself.
- ``rules``: whether a call may be sent now, and with which bytes.
- ``lineage``: which candidates come from which, and which ones can be chosen.
- ``usable``: whether enough candidates came to choose from.
- ``usability``: the findings of ``usable`` in words.
"""
