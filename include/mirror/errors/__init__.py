"""Every error of the mirror: one class a situation, its facts as attributes, and what to do next in the message.

A retriable error says that the same step may simply be run again. Callers ask the error and never parse its text. What the runbook says of
an error stands with its class.

`base` has MirrorError and ErrorReport, and each other file one subject.

`offsets` and every room above it may import it.
"""
# ruff: noqa: F403 — a star names no error twice, and type checkers take it for a re-export

from mirror.errors.audit import *
from mirror.errors.backfill import *
from mirror.errors.base import ErrorReport as ErrorReport
from mirror.errors.base import MirrorError as MirrorError
from mirror.errors.base import Problem as Problem
from mirror.errors.base import named_with as named_with
from mirror.errors.configuration import *
from mirror.errors.failover import *
from mirror.errors.kafka import *
from mirror.errors.lane import *
from mirror.errors.ledger import *
from mirror.errors.migration import *
from mirror.errors.next_step import NextStep as NextStep
from mirror.errors.next_step import Remedy as Remedy
from mirror.errors.schemas import *
from mirror.errors.source import *
from mirror.errors.spark import *
from mirror.errors.target import *
from mirror.errors.unknown_failure import unexpected as unexpected
from mirror.errors.wave import *
