"""Lists, counts and durations in sentences."""

from collections.abc import Iterable


def first_few(items: Iterable[object], most: int = 5, separator: str = ", ") -> str:
    """The first items, and how many more there are: `a, b and 1,200 more`."""
    texts = list(map(str, items))
    return separator.join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


def first_lines(lines: Iterable[object], most: int, rest: str = "more") -> list[str]:
    """The first lines, and one that says how many more there are: `… and 1,200 more`."""
    texts = list(map(str, lines))
    return texts[:most] + ([f"… and {len(texts) - most:,} {rest}"] if len(texts) > most else [])


def count_text(number: int, noun: str, plural: str = "") -> str:
    """A number of things: `1 record`, `1,200 records`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def duration(seconds: float) -> str:
    """Seconds in the two largest units that matter to a reader: `42 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    whole = int(seconds)
    for size, name, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"
