"""Code that may read private data and never uses the network: a run's keeper, and commands on private data.

- ``keeping``, ``at_door``: the keeper's process. ``keeper``: one method per message. ``padding``: delays
  answers to whole ticks, so that their timing hides how long private work took.
- ``components``, ``planning``: the parts of a run, its public plan, and its price.
- ``private``: private data. ``ledger``: the budget spent on private data.
- ``beginning``, ``continuity``: check that ledger and record agree.
- ``kind``: chooses between images and texts. ``images``, ``texts``: how each kind is read and judged.
- ``private_data``: checks the number of units.
- ``check``: inspects a folder before a run. ``finished``, ``evaluation``: measurements after a run.
"""
