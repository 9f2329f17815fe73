"""All that knows what an image is: pixels are read, measured and changed here, and nowhere but in ``encoders`` besides.

May import ``public`` and ``errors``. Imported by ``audit``, ``bench``, ``datasets``, ``dp_audit``, ``encoders``,
``evaluation``, ``pages``, ``private``, ``publish``, ``run`` and ``selectors``, to which a decoded image is opaque.
"""
