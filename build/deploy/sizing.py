"""What measured figures come to for many clients:  python3 build/deploy/sizing.py [--messages 1] [--heap 32] [--cores 8] [--minutes 10] [--text 30]

Each figure names the document, and the words in it, that say where it was measured. Nothing here is measured, and everything beyond the measured numbers is a
straight line through them: docs/sizing.md says for what that is doubtful.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
CONNECTIONS = [1_000_000, 10_000_000, 100_000_000]
CLIENT_ID = 13
GIB = 1 << 30


@dataclass(frozen=True)
class Figure:
    """A number, and the words of a document that it is from."""

    value: float
    document: str
    words: str


IDLE_HEAP = Figure(1_378, "benchmarks.md", "so **1,378**")
SUBSCRIPTION_HEAP = Figure(530, "benchmarks.md", "With one subscription each, about 530 more")
DATA_HEAP = Figure(987, "benchmarks.md", "| 4 GB | a clean stop | 52 | 987 MB |")
DISK = Figure(670, "benchmarks.md", "670 MB on disk")
START_SECONDS = Figure(82, "benchmarks.md", "| 2 GB | a clean stop | 82 |")
WRITES = Figure(63_411, "benchmarks.md", "| 3 in a JVM each, 1,024 | 63,411 |")
CONNECTS = Figure(4_000, "benchmarks.md", "4,000 to 5,200 then")
MATCH_NANOS = Figure(651, "benchmarks.md", "651 ns with five million")
LANE_NANOS = Figure(164, "benchmarks.md", "a lane, match and hand-over of a message: 105 to 164 ns")
FILES = Figure(1_048_576, "../build/deploy/systemd/dunlin.service", "LimitNOFILE=1048576")
SESSIONS_MAX = Figure(10_000_000, "configuration.md", "| `dunlin.session.sessions-max` | integer | 10000000 |")
RETAINED_MAX = Figure(10_000_000, "configuration.md", "| `dunlin.retain.messages-max` | integer | 10000000 |")
SESSION_BYTES = Figure(
    256, "configuration.md", "256 bytes for each, twice the lengths of a session's client identifier and user, and four times the length of a subscription's topic filter")
SESSION_PART = Figure(1 / 4, "configuration.md", "0: a quarter of the maximum heap.")
ROUTE_BYTES = Figure(256, "configuration.md", "256 bytes for each, and twice the length of its topic filter.")
ROUTE_PART = Figure(1 / 2, "configuration.md", "refused with 0x97. 0: half of the maximum heap.")
FIGURES = [value for value in list(globals().values()) if isinstance(value, Figure)]


@dataclass(frozen=True)
class Assumed:
    """What the clients do, and what a machine has. Each client has a durable session with one filter of its own, and one retained topic."""

    messages: float = 1  # a minute and client, of QoS 1, each to one durable session
    heap: float = 32  # GiB, of a process; half of it is kept free
    cores: int = 8  # of a process
    minutes: float = 10  # that a start, or all clients' return, may take
    text: int = 30  # bytes of a topic filter

    def __post_init__(self):
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} must be more than 0, not {value}")


@dataclass(frozen=True)
class Part:
    """A part of the system: what it needs for a number of clients, how many clients it is enough for, and, if there is no such number, what else ends it."""

    name: str
    needs: Callable[[int], str]
    most: float
    end: str = ""


def parts(assumed):
    live = assumed.heap * GIB / 2
    frontend = IDLE_HEAP.value + SUBSCRIPTION_HEAP.value
    per_frontend = min(live / frontend, FILES.value)
    rate = assumed.messages / 60
    session = 2 * SESSION_BYTES.value + 2 * CLIENT_ID + 4 * assumed.text  # with a subscription
    route = ROUTE_BYTES.value + 2 * assumed.text
    budget = max(session / SESSION_PART.value, route / ROUTE_PART.value)
    seconds = assumed.minutes * 60
    match = (MATCH_NANOS.value + LANE_NANOS.value) / 1e9
    return [
        Part("frontends: heap of all together", lambda n: size(n * frontend), math.inf, "any number, with more frontends"),
        Part("frontends: processes", lambda n: f"{math.ceil(n / per_frontend):,}", math.inf, "any number, with more frontends"),
        Part("return of all clients after an outage", lambda n: duration(n / CONNECTS.value), CONNECTS.value * seconds),
        Part("sessions: writes a second to the one range", lambda n: f"{n * rate:,.0f}", WRITES.value / rate),
        Part("start of a node with everything", lambda n: duration(n / 1e6 * START_SECONDS.value), seconds / START_SECONDS.value * 1e6),
        Part("sessions, retained topics: number by default", lambda n: f"{n:,}", min(SESSIONS_MAX.value, RETAINED_MAX.value)),
        Part("a node with everything: live heap", lambda n: size(n * DATA_HEAP.value), live / DATA_HEAP.value),
        Part("a node with everything: heap for the default budgets", lambda n: size(n * budget), assumed.heap * GIB / budget),
        Part("a node with everything: disk, at least", lambda n: size(n * DISK.value), math.inf, "what the disk holds"),
        Part("routes: cores that match", lambda n: f"{n * rate * match:.2f}", assumed.cores / (rate * match)),
    ]


def size(number):
    return f"{number / 1e9:,.1f} GB"


def duration(seconds):
    if seconds < 600:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7_200 else f"{seconds / 3_600:,.1f} h"



def table(assumed):
    """The parts, first those that are at their end first; bold where a number of clients is beyond it."""
    ordered = sorted(parts(assumed), key=lambda part: part.most)
    lines = ["| part | " + " | ".join(f"{n // 1_000_000} million" for n in CONNECTIONS) + " | enough for |", "|---|" + "---|" * (len(CONNECTIONS) + 1)]
    for part in ordered:
        cells = [f"**{part.needs(n)}**" if n > part.most else part.needs(n) for n in CONNECTIONS]
        enough = part.end or f"{part.most / 1e6:,.1f} million"
        lines.append(f"| {part.name} | {' | '.join(cells)} | {enough} |")
    return "\n".join(lines)


def unfounded():
    """The figures whose words are no longer in their documents."""
    return [figure for figure in FIGURES if figure.words not in (DOCS / figure.document).read_text()]


def main():
    parser = argparse.ArgumentParser(description="What measured figures come to for many clients: docs/sizing.md.")
    for name, value in vars(Assumed()).items():
        parser.add_argument(f"--{name}", type=float, default=value)
    try:
        print(table(Assumed(**vars(parser.parse_args()))))
    except ValueError as wrong:
        parser.error(str(wrong))


if __name__ == "__main__":
    main()
