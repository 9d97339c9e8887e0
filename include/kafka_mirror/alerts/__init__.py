"""Tells people on call: which problems a flow has, which of them are new or over, and how that is sent.

`check` is one check from look to outbox; `rules` are the limits, `tracker` makes alerts of problems, `channels` and `webhook` send them.

`airflow`, `cli` and every room above them may import it.
"""
