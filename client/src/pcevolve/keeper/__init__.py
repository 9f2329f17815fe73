"""Code with access to private data, and never to the network: a run's keeper, and commands on private data.

- ``keeping``, ``at_door``: its process; ``keeper``: one method per message; ``padding``: answers leave at
  ticks.
- ``components``, ``planning``: the parts of a run, its public plan, and its price.
- ``private``: private data; ``ledger``: what was spent on them.
- ``beginning``, ``continuity``: check that ledger and record agree.
- ``kind``: chooses between images and texts; ``images``, ``texts``: how each is read and judged.
- ``private_data``: checks the number of units.
- ``check``: inspects a folder before a run; ``finished``, ``evaluation``: measurements after a run.
"""
