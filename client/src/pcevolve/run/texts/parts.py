"""The parts of a run with texts; see ``concerns.Parts``. Importing this module loads none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcevolve.run.concerns import Asking, Checking, Judging, Measuring, Reading, Showing
    from pcevolve.run.demonstration import Demonstration


class TextParts:
    """Each part is a module, whose functions are those of the concern."""

    @property
    def checking(self) -> Checking:
        """What speaks against a run."""
        from pcevolve.run.texts import checking

        return checking

    @property
    def asking(self) -> Asking:
        """What a plan says."""
        from pcevolve.run.texts import asking

        return asking

    @property
    def reading(self) -> Reading:
        """The owner's data."""
        from pcevolve.run.texts import reading

        return reading

    @property
    def judging(self) -> Judging:
        """Who judges."""
        from pcevolve.run.texts import judging

        return judging

    @property
    def measuring(self) -> Measuring:
        """What else is measured."""
        from pcevolve.run.texts import measuring

        return measuring

    @property
    def showing(self) -> Showing:
        """What a terminal shows."""
        from pcevolve.run.texts import showing

        return showing

    @property
    def demonstration(self) -> Demonstration:
        """What the demonstration shows."""
        from pcevolve.run.texts import demo

        return demo.DEMONSTRATION
