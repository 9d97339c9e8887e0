"""Reads a Java pattern character by character, with the flags that hold at the place."""

from mirror.policy.java_properties import Flags

END = ""


class Reader:
    """The text of a pattern, the place in it, and the flags in force there (the letters of Java's `(?idmsuxU)`)."""

    def __init__(self, pattern: str) -> None:
        self._text = _without_quotes(pattern)
        self._at = 0
        self.flags: Flags = frozenset()

    def peek(self, ahead: int = 0) -> str:
        """The character `ahead` places further on, or END."""
        return self._text[self._at + ahead : self._at + ahead + 1]

    def take(self) -> str:
        """The next character, or END; moves past it."""
        character = self.peek()
        self._at += len(character)
        return character

    def accept(self, text: str) -> bool:
        """Moves past `text` if it comes next, and says whether it did."""
        found = self._text.startswith(text, self._at)
        if found:
            self._at += len(text)
        return found

    def until(self, mark: str, what: str) -> str:
        """What stands before the next `mark`; moves past both. Raises ValueError if there is none."""
        end = self._text.find(mark, self._at)
        if end < 0:
            raise ValueError(f"{what} is not closed by '{mark}'")
        found = self._text[self._at : end]
        self._at = end + len(mark)
        return found

    def digits(self, allowed: str, most: int) -> str:
        """As many of the `allowed` characters as come next, `most` at most; moves past them."""
        found = ""
        while len(found) < most and self.peek() and self.peek() in allowed:
            found += self.take()
        return found

    def skip_comments(self) -> None:
        """Under (?x), moves past white space and `# …` to the end of the line; else does nothing."""
        if "x" not in self.flags:
            return
        line_ends = "\n" if "d" in self.flags else "\n\r\x85\u2028\u2029"
        while (character := self.peek()) and character in " \t\n\x0b\x0c\r#":
            self.take()
            while character == "#" and self.peek() and self.peek() not in line_ends:
                self.take()


def _without_quotes(pattern: str) -> str:
    r"""The pattern with each character of a `\Q…\E` written as an escape; a quote that is not closed goes to the end, as in Java."""
    written = []
    at = 0
    while at < len(pattern):
        if pattern.startswith(r"\Q", at):
            end = pattern.find(r"\E", at + 2)
            end = len(pattern) if end < 0 else end
            written += [f"\\x{{{ord(character):x}}}" for character in pattern[at + 2 : end]]
            at = end + 2
        else:
            length = 2 if pattern[at] == "\\" else 1
            written.append(pattern[at : at + length])
            at += length
    return "".join(written)
