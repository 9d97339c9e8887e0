"""Moves applications from a flow's source to its target, wave by wave, in steps that can be killed and run again.

`run` opens the clusters and runs a wave: `steps` says which steps there are, `runner` runs them in order, `rollback` takes them back.
`wave_notes` keeps the `wave_record` in the control topic, and `report` is made of it.
`preflight` asks both clusters, by `topic_survey`, `group_survey` and `writer_survey`. The rest is pure: `wave` is what moves together,
`findings` how a stop, a warning and information are said, and `partitions`, `groups`, `writers`, `topic_settings`, `flow_settings` judge.
No state is kept here: a step finds out from the clusters and the control topic what is left to do.

`airflow`, `cli` and every room above them may import it.
"""
