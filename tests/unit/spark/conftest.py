"""A job sets up the logging of its process; here that is the process of all tests."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Takes back what a test's job did to the mirror's loggers."""
    logger = logging.getLogger("kafka_mirror")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    level, logger.propagate, logger.handlers = before
    logger.setLevel(level)
