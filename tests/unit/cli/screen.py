"""A terminal of the tests' own."""

import contextlib
import io
import re

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen(io.StringIO):
    """What a command writes to when a person looks: `with screen:`. Its width is that of the variable COLUMNS."""

    def __enter__(self):
        self._streams = contextlib.ExitStack()
        self._streams.enter_context(contextlib.redirect_stdout(self))
        self._streams.enter_context(contextlib.redirect_stderr(self))
        return self

    def __exit__(self, *_error):
        self._streams.close()

    def isatty(self):
        return True

    @property
    def lines(self):
        """What stands there, without colours and movements of the cursor."""
        return [line.rstrip() for line in _CODES.sub("", self.getvalue()).splitlines()]
