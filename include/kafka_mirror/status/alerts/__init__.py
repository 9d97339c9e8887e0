"""Tells people on call: which of a flow's problems are new or over, and how that is sent.

`check` is one check from look to outbox; `tracker` makes alerts of problems, `channels` and `webhook` send them.
"""
