"""How far training has come: a bar in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

#: Seconds between plain lines.
_PAUSE = 5.0

Report = Callable[[int, float], None]


@contextmanager
def show_progress(wanted: bool | None, *, total: int, done: int) -> Iterator[Report]:
    """Show steps per second, loss and the time that is left, on stderr.

    **Arguments:**

    - `wanted`: `None` or `True` for a bar where stderr is a terminal, else a line every few
      seconds; `False` for silence.
    - `total`, `done`: steps of the run, and how many of them are behind already.

    **Yields:** a function to call with the number of steps done and the latest loss.
    """
    if wanted is False or done >= total:
        yield lambda step, loss: None
    elif sys.stderr.isatty():
        with _bar(total, done) as report:
            yield report
    else:
        yield _lines(total, done)


@contextmanager
def _bar(total: int, done: int) -> Iterator[Report]:
    from tqdm import tqdm

    with tqdm(total=total, initial=done, unit="step", dynamic_ncols=True) as bar:

        def report(step: int, loss: float) -> None:
            bar.set_postfix_str(f"loss {loss:.3e}", refresh=False)
            bar.update(step - bar.n)

        yield report


def _lines(total: int, done: int) -> Report:
    started = last_shown = time.monotonic()
    first = None

    def report(step: int, loss: float) -> None:
        nonlocal last_shown, first
        now = time.monotonic()
        if first is None:
            # The first report includes compilation, which says nothing about what is left.
            first = (step, now)
        since_step, since = first if first[0] < step else (done, started)
        rate = (step - since_step) / max(now - since, 1e-9)
        if first[0] != step and step < total and now - last_shown < _PAUSE:
            return
        last_shown = now
        print(
            f"step {step}/{total} | loss {loss:.3e} | {rate:.3g} steps/s | "
            f"{_clock((total - step) / rate)} left",
            file=sys.stderr,
            flush=True,
        )

    return report


def _clock(seconds: float) -> str:
    seconds = ceil(seconds)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
