"""Before any test imports torch: its threads shall sleep, not spin, while they wait for each other."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
