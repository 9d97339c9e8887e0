"""Every error of the mirror: one class a situation, its facts as attributes, and what to do next in the message.

A retriable error says that the same step may simply be run again. Callers ask the error and never parse its text. What the runbook says of
an error stands with its class.

`base` has MirrorError and ErrorReport, and each other file one subject.

`formats`, `policy`, `logins` and every room above them may import it.
"""
# ruff: noqa: F403 — a star names no error twice, and type checkers take it for a re-export

from kafka_mirror.errors.base import ErrorReport as ErrorReport
from kafka_mirror.errors.base import MirrorError as MirrorError
from kafka_mirror.errors.base import Problem as Problem
from kafka_mirror.errors.base import Unexpected as Unexpected
from kafka_mirror.errors.base import name_flow_in_errors as name_flow_in_errors
from kafka_mirror.errors.base import report_unexpected as report_unexpected
from kafka_mirror.errors.configuration import *
from kafka_mirror.errors.kafka import *
from kafka_mirror.errors.lane import *
from kafka_mirror.errors.ledger import *
from kafka_mirror.errors.migration import *
from kafka_mirror.errors.next_step import NextStep as NextStep
from kafka_mirror.errors.next_step import Remedy as Remedy
from kafka_mirror.errors.side_jobs import *
from kafka_mirror.errors.source import *
from kafka_mirror.errors.spark import *
from kafka_mirror.errors.target import *
from kafka_mirror.errors.wave import *
from kafka_mirror.errors.wave_fence import *
from kafka_mirror.errors.wave_groups import *
from kafka_mirror.errors.wave_topics import *
