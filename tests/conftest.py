"""Before any test imports torch: its threads shall sleep, not spin, while they wait for each other.

Property tests have no deadline: how long an example takes depends on what else the machine does.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
