"""Limits of a selection at a budget: by arithmetic, beside what was measured, as one page of figures."""
