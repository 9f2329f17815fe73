"""An event loop whose clock jumps to whatever is due next, so that hours pass in a moment; for tests only."""

import asyncio
import selectors


class _Jumping(selectors.SelectSelector):
    """Has waited for as long as it is asked to."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that knows the time from the loop alone and waits for nothing outside it."""

    def __init__(self):
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self):
        return self._jumping.now


def passing(work):
    """Return what a coroutine returns, with no time wasted on waiting."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
