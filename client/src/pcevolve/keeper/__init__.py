"""What has private data, and never the network: a run's keeper, and commands that look at private data.

- ``keeping``, ``at_door``: its process; ``keeper``: a method for each message; ``padding``: answers leave at ticks.
- ``components``, ``planning``: what a run is made of, its public plan, and that it can be paid for.
- ``private``: private data; ``ledger``: what was spent on them.
- ``beginning``, ``continuity``: that ledger and record tell one story.
- ``kind``: where images and texts part ways; ``images``, ``texts``: how each is asked for, read and judged.
- ``private_data``, ``declared_secrets``: whether there is as much as was said, and what of it is declared secret.
- ``check``: a look at a folder before a run; ``finished``, ``evaluation``: what is measured when it is over.
"""
