"""Figures in words."""


def duration(seconds: float) -> str:
    """Seconds in the two largest units that matter to a reader: `42 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    whole = int(seconds)
    for size, name, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"
