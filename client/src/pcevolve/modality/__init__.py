"""All that knows what an image or a text is: what they hold is read, measured and changed here, and in ``encoders``.

May import ``public`` and ``errors``. Imported by ``auditing``, ``benchmarks``, ``dp_audit``, ``egress``,
``encoders``, ``evaluation``, ``interface``, ``pages``, ``private``, ``providers``, ``publish``, ``session`` and
``selectors``, to which a decoded image or text is opaque; ``media.medium`` is what a room asks that need not know
which of them it has.
"""
