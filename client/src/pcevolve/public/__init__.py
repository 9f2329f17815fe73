"""Public values and rules: the plan of a run, releases with their receipts, options and words.

- ``plan``: every call of a run, derived from public facts (``calls``, ``fields``, ``parts``).
- ``release``: values that pass from the private side to the public side, each with the receipt that paid for it.
- ``settings``, ``requests``, ``methods``: options that the plan embeds; ``config``: how options are declared and read.
- ``modality``: the kinds of data that a run makes (images, texts), behind one interface.
- ``words``: names of classes, and prompts from public words. ``answers``: when an API's answer is a success.
- ``figures``: how numbers are parsed and printed. ``finding``: an audit's findings.
- ``selectors``, ``dp``, ``geometry``, ``encoders``, ``media``: how arrays choose candidates. Only a keeper, the
  process with the private data, passes private arrays.
- ``loop``: which requests are due, and what their answers contained.
- ``transcript``, ``pages``, ``publish``: the record and its products. ``run``: a run's folders.
- ``protocol``: messages between a run's processes; ``processes``: what the kernel lets each process do.

No module here reads private files or opens a network connection. Import from the modules themselves, so that
no unused module is loaded.
"""
