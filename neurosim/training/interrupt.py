"""Ctrl-C as a request to stop at the next good moment."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StopRequest:
    """Whether a stop has been asked for."""

    def __init__(self) -> None:
        self.made = False


@contextmanager
def stop_on_interrupt(announce: bool = True) -> Iterator[StopRequest]:
    """Turn the first SIGINT inside the block into a request, the second into `KeyboardInterrupt`.

    Signals reach the main thread only; in another thread the block is left as it is.

    **Arguments:**

    - `announce`: say on stderr that the request was heard.
    """
    request = StopRequest()
    previous = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    # A handler of `None` was not installed from Python and could not be put back; a process told
    # to ignore the signal goes on ignoring it.
    if not in_main_thread or previous in (None, signal.SIG_IGN):
        yield request
        return

    def handle(signum: int, frame: Any) -> None:
        if request.made:
            raise KeyboardInterrupt
        request.made = True
        if announce:
            print(
                "\nStopping after the steps under way; Ctrl-C again stops at once.",
                file=sys.stderr,
                flush=True,
            )

    signal.signal(signal.SIGINT, handle)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, previous)
