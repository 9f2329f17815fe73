"""Private things that would be recognised anywhere."""

from __future__ import annotations

PERSON = "Jane Canary-Doe"
FILE_NAME = "canary-jane-doe-0417.png"
UNIT = "patient-canary-0417"
EXIF = "canary GPS 52.5200 N 13.4050 E"
ALL = (PERSON, FILE_NAME, UNIT, EXIF)
