"""Tests of what an engine meets while it copies have to pass with each; all else is found before one is opened."""

import pytest

ENGINE = "source->target.mirror.engine"
"""The property that chooses the copy's engine."""

both_engines = pytest.mark.parametrize("mirroring", ["records", "batches"], indirect=True)
"""Runs a test of one `mirroring` twice."""
