"""Rules that give contexts of a schema registry other names on the target (`mirror.schemas.contexts`)."""

from collections.abc import Iterable, Mapping

_ARROW = "->"


def parse_contexts(rules: Iterable[str]) -> Mapping[str, str]:
    """The target's context of each of the source's that a rule names, of rules such as `.prod -> .copy`; `.` is the default context. Raises
    ValueError that says what is wrong."""
    renamed: dict[str, str] = {}
    for rule in rules:
        source, arrow, target = (part.strip() for part in rule.partition(_ARROW))
        if not arrow or not source.startswith(".") or not target.startswith(".") or ":" in source + target:
            raise ValueError(f"'{rule}' is not of the form .context -> .context ('.' is the default context)")
        if source in renamed or target in renamed.values():
            raise ValueError(f"'{rule}' names a context that another rule names")
        renamed[source] = target
    return renamed
