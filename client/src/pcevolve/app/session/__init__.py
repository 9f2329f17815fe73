"""From options to a finished run: the one place that puts all rooms together.

- ``preflight``: refusals before a run's data are read.
- ``components``, ``planning``: what a run is made of, its public plan, and that it can be paid for.
- ``kind``: where images and texts part ways; ``images``, ``texts``: how each is asked for, read, judged and shown.
- ``private_data``: whether there is as much of it as was said, and what of it is declared secret.
- ``reaching``: the gate to the API.
- ``approval``, ``console``: what a person is told and asked. ``progress``, ``dashboard``: what is seen meanwhile.
- ``keeper``: answers for the private data; ``asking``: asks it; ``apart``: has both in processes of their own.
- ``execution``: the run itself, as its runner. ``folder``: who may write where.
- ``first``: what people do before a run: a demonstration, a look at a folder, a file of options, prompts, a price.
- ``finished``: what they do with a run that is over: export, evaluate, compare, classify.

``preflight`` imports no library that takes long to load.
"""
