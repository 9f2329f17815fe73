"""Public values and rules: the plan of a run, releases with their receipts, and what words and options may be.

- ``plan``: every call of a run, from public facts (``calls``, ``fields``, ``parts``). ``release``: what leaves the
  private side, with what paid for it.
- ``options``, ``settings``, ``requests``: how an option is declared, and those that the plan repeats.
- ``modality``: what a run makes, images or texts, and what is known of it by whoever need not know which.
- ``words``: what a class may be called, and prompts from public words. ``answers``: when an API's answer is a success.
- ``figures``: numbers as people write and read them. ``finding``: of an audit.

- ``selectors``, ``dp``, ``geometry``, ``encoders``, ``media``: how candidates are chosen, of arrays; who calls
  them with private ones is a keeper. ``evolution``, ``rules``, ``usability``: the loop, and what may be asked and used.
- ``transcript``, ``pages``, ``publish``: the record, and what is made of it. ``config``, ``run``: options and folders.
- ``protocol``, ``door``: what passes between a run's processes; ``processes``: what the kernel lets each of them do.

Nothing in here reads private files or opens a network. Import from its modules, so that no more is loaded than is used.
"""
