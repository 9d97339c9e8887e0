"""Errors of an audit."""

from collections.abc import Collection, Sequence

from kafka_mirror.errors.declaration import DeclaredError
from kafka_mirror.errors.next_step import Part, the_plan


class AuditDifferent(DeclaredError):
    """Source and target are not the same where one should be the copy of the other."""

    difference: str
    topic: str
    partition: int
    offset: int | None
    text = "{difference}. The audit changed nothing."
    next_text = (
        "Look at both records (the audit's result shows them; their contents: {mirror:audit --flow '<flow>' --topics {topic} "
        "--show-payload}), and find out who wrote to the target. To have the source's records there again, delete the remote topic, run "
        "refresh-topics, and copy it again with decide restart."
    )
    lost = "It depends on the kind: a `missing record` or a `truncated tail` is."
    do = (
        "Look at both records (`audit --show-payload`), and find out who writes to the target. To have the source's records there again, "
        "delete the remote topic, run `refresh-topics`, and decide `restart`."
    )
    more = "The message names the kind and the offsets."


class AuditIncomplete(DeclaredError):
    """`--complete` was asked for, and something is not copied yet or could not be compared."""

    why: str
    text = "The audit was to prove that everything is copied, and cannot. {why}"
    do = "Wait until the copy has it (`status`), and audit again."
    more = "What was compared is equal, if no other error says otherwise."

    def _advise(self) -> Sequence[Part]:
        return "See what waits and what blocks it: ", *the_plan(), ". Then audit again."


class LogMoved(DeclaredError):
    """Retention deleted records while an audit read them, three times in a row."""

    cluster: str
    topic: str
    partition: int
    detail: str
    retriable = True
    text = "Cluster '{cluster}': {topic}-{partition} no longer has what was being read: {detail}."
    next_text = "Run it again: it begins where the log starts now."
    do = "Run the audit again, for fewer topics at once."


class RecordUnreadable(DeclaredError):
    """A record has a header key that is not UTF-8, so the audit did not compare its partition."""

    cluster: str
    topic: str
    partition: int
    offset: int
    text = (
        "Cluster '{cluster}': {topic}-{partition}@{offset} has a header key that is not UTF-8, which the client cannot read. Its partition "
        "was not compared."
    )
    next_text = "Audit what lies before it and after it: --from and --to, in Airflow the parameters from and to of the DAG audit."
    do = "Audit what lies before the record and after it, with `--from` and `--to`."


class NothingAudited(DeclaredError):
    """An audit was asked about topics by name, and the flow has never copied them."""

    topics: Collection[str]
    text = "Nothing was ever copied of {topics}, so the audit left it out. It audited what else was asked for."
    do = "Check the names, which are those of the source."

    def _advise(self) -> Sequence[Part]:
        return "Check the names, which are those of the source, and what the flow takes: ", *the_plan(), "."
