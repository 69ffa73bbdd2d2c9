"""Replays on pybreaker itself what a model says of it.

Cases come on the standard input, one JSON object a line, as replay_play_test.go of
breakerref/model writes them. After each operation the library has to look as the
model did. The report goes to the standard output, the first differences to the
standard error. Exit code: 1 if there was a difference, or nothing to replay.
"""

import json
import sys
import threading
from collections import deque
from datetime import datetime, timedelta, timezone
from unittest import mock

import pybreaker

TOLD = 3  # differences told of each library
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
STATES = {"closed": "CLOSED", "open": "OPEN", "half-open": "HALF_OPEN"}


class Failed(Exception):
    """An error that the breaker counts."""


class Ignored(Exception):
    """An error that the breaker is set up not to count."""


class Clock(datetime):
    """A datetime whose now is stepped by hand."""

    microseconds = 0

    @classmethod
    def now(cls, tz=None):
        return (EPOCH + timedelta(microseconds=Clock.microseconds)).astimezone(tz)


class Busy:
    """How many threads have something to do without being told to."""

    def __init__(self):
        self.count = 0
        self.changed = threading.Condition()

    def add(self, n):
        with self.changed:
            self.count += n
            if self.count == 0:
                self.changed.notify_all()

    def settle(self):
        """Waits until all that follows from what was done has happened."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.count == 0, timeout=60):
                raise RuntimeError("a thread neither ends nor waits")


class Turns:
    """A reentrant lock that threads get in the order in which they came.

    threading.RLock, in whose place the library gets it, promises no order, and does
    not tell who waits.
    """

    def __init__(self, busy):
        self.busy = busy
        self.guard = threading.Lock()
        self.owner = None
        self.depth = 0
        self.queue = deque()

    def __enter__(self):
        me, gate = threading.get_ident(), threading.Semaphore(0)
        with self.guard:
            if self.owner in (None, me):
                self.owner = me
                self.depth += 1
                return
            self.queue.append((me, gate))
        self.busy.add(-1)
        gate.acquire()  # Whoever leaves has made this thread the owner, and busy.

    def __exit__(self, *_):
        with self.guard:
            self.depth -= 1
            if self.depth > 0:
                return
            self.owner = None
            if self.queue:
                self.busy.add(1)
                self.owner, gate = self.queue.popleft()
                self.depth = 1
                gate.release()


class Replay:
    """A case that is played: each call in a thread of its own, one step at a time."""

    def __init__(self, options, start):
        self.busy = Busy()
        self.running = {}  # by number: the outcome to be, and what lets the call end with it
        self.waiting = set()
        self.answers = []
        Clock.microseconds = start
        with mock.patch.object(pybreaker.threading, "RLock", lambda: Turns(self.busy)):
            self.breaker = pybreaker.CircuitBreaker(exclude=[Ignored], **options)

    def do(self, what, of):
        """Does one operation and returns what the library shows after it."""
        self.answers = []
        if what == "ask":
            self.waiting.add(of)
            self.busy.add(1)
            threading.Thread(target=self.call, args=(of,), daemon=True).start()
        elif what == "wait":
            Clock.microseconds += of
        else:
            self.end(of, {"success": None, "failure": Failed(), "ignored": Ignored()}[what])
        self.busy.settle()
        return {
            "answers": sorted(self.answers),
            "waiting": sorted(self.waiting),
            "state": STATES[self.breaker.current_state],
            "counts": [self.breaker.fail_counter],
        }

    def call(self, number):
        told = []
        try:
            self.breaker.call(self.action, number, told)
            right = told == [None]
        except pybreaker.CircuitBreakerError:
            right = True
            if told:
                self.answers.append(f"{number} masked")
            else:
                self.answer(number, "rejected")
        except Exception as error:
            right = told == [error]
        if not right:
            self.answers.append(f"{number} does not end as it was told")
        self.busy.add(-1)

    def action(self, number, told):
        """What the breaker guards: it ends when and how it is told to."""
        gate, outcome = threading.Semaphore(0), []
        self.running[number] = (outcome, gate)
        self.answer(number, "admitted")
        self.busy.add(-1)
        gate.acquire()
        told.extend(outcome)
        if outcome[0] is not None:
            raise outcome[0]

    def answer(self, number, text):
        self.waiting.discard(number)
        self.answers.append(f"{number} {text}")

    def end(self, number, error):
        outcome, gate = self.running.pop(number)
        outcome.append(error)
        self.busy.add(1)
        gate.release()

    def close(self):
        """Ends what still runs, and what that lets run."""
        while self.running:
            self.end(next(iter(self.running)), None)
            self.busy.settle()


def replay(case, report):
    """Replays a case up to the first difference, and returns that, if any."""
    played = Replay(case["options"], case["start"])
    try:
        for i, operation in enumerate(case["operations"]):
            seen = played.do(operation["do"], operation["of"])
            report["operations"] += 1
            if seen != operation["model"]:
                return i, seen
    finally:
        played.close()
    return None


def tell(case, at, seen):
    """Returns a difference, and all that led to it."""
    led = ", ".join(f"{o['do']} {o['of']}" for o in case["operations"][: at + 1])
    return "\n  ".join(
        (
            f"pybreaker {json.dumps(case['options'])}",
            f"operation {at} of: {led}",
            f"model:   {json.dumps(case['operations'][at]['model'])}",
            f"library: {json.dumps(seen)}",
        )
    )


def main():
    report = {"operations": 0, "cases": 0, "differences": 0}
    with mock.patch.object(pybreaker, "datetime", Clock):
        for line in sys.stdin:
            case = json.loads(line)
            if case["library"] != "pybreaker":
                raise ValueError(f"no library is called {case['library']}")
            report["cases"] += 1
            difference = replay(case, report)
            if difference:
                report["differences"] += 1
                if report["differences"] <= TOLD:
                    print(tell(case, *difference), file=sys.stderr)
    print("pybreaker: replayed {operations} operations of {cases} cases, {differences} differences".format(**report))
    return 0 if report["operations"] and not report["differences"] else 1


if __name__ == "__main__":
    sys.exit(main())
