"""Public values and rules: the plan of a run, releases with their receipts, options and words.

- ``plan``: every call of a run, from public facts (``calls``, ``fields``, ``parts``). ``release``: values
  that leave the private side, with the receipt that paid for them.
- ``settings``, ``requests``, ``methods``: options that the plan embeds; ``config``: how all are declared and read.
- ``modality``: the kinds of data that a run makes, images or texts, behind one interface.
- ``words``: names of classes, and prompts from public words. ``answers``: when an API's answer is a success.
- ``figures``: numbers as people write and read them. ``finding``: an audit's findings.
- ``selectors``, ``dp``, ``geometry``, ``encoders``, ``media``: choosing candidates by arrays; only a keeper
  passes private ones. ``loop``: which requests are due, and what came of them.
- ``transcript``, ``pages``, ``publish``: the record and its products. ``run``: a run's folders.
- ``protocol``: messages between a run's processes; ``processes``: what the kernel lets each of them do.

Nothing here reads private files or opens a network. Import from the modules, so that no more is loaded than
is used.
"""
