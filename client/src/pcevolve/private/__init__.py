"""Everything that the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket to a provider or writes a log. A private type's ``repr`` is its class name, and no error
carries a statistic of the data; errors name only the owner's own files. What it offers is a judge
(``judge.PrivateJudge``, ``judge.UniformJudge``) and the data that one is made from: ``listing`` names the files,
``subsample`` draws some, ``dataset`` reads them, ``units`` groups them; ``engine`` says where they are worked on, in
this process or on Ray (``cluster``); ``inspection`` looks at a folder without a run.

May import ``dp``, ``encoders``, ``evolve``, ``geometry``, ``ledger``, ``modality``, ``public`` and ``selectors``.
Imported by ``benchmarks``, ``evaluation`` and ``session`` alone.
"""
