"""One configured value, unresolved, and the key in the file that it comes from."""

import re
from typing import NamedTuple

DEFAULT = "(default)"
"""The origin of what MM2 fills in itself."""

_SECRET = re.compile(
    r"password|passphrase|secret|jaas|credential|token(?!\.endpoint)|keystore\.key$|private\.key$|api\.key|user\.info", re.IGNORECASE
)


class Setting(NamedTuple):
    """`text` as it stands in the file (references unresolved); `origin` is the key that the user wrote, for messages."""

    text: str
    origin: str
    hidden: bool = False
    """Whether the text came out of a reference, so that no message may show it."""
    unresolved: bool = False
    """Whether the text still holds references, so that it cannot be judged yet."""

    def __repr__(self) -> str:
        """Without the text: it may be a secret that stands in the file itself."""
        return f"Setting({self.origin})"

    @property
    def display_text(self) -> str | None:
        """The text for a message; None if the property may hold a secret."""
        return None if self.hidden or is_secret(self.origin) else self.text


class Texts(dict[str, str]):
    """Property -> unresolved text. Some may be secrets, so the text of the whole has the names only."""

    def __repr__(self) -> str:
        return f"Texts({', '.join(self)})"

    __str__ = __repr__


def is_secret(name: str) -> bool:
    """Whether a property of this name may hold a secret, so that its value never stands in a message."""
    return _SECRET.search(name) is not None
