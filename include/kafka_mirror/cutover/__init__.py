"""Moves applications from a flow's source to its target, wave by wave, in steps that can be killed and run again.

`run` opens the clusters and runs a wave: `step_table` has the steps, and `runner` runs them in order, or takes them back. `wave_notes`
keeps the `wave_record` in the control topic, and `report` is made of it. A step works on a `move`.
A file each has the steps `preflight_step`, `catch_up`, `fence`, `last_copy`, `audit_gate`, `move_groups` and `open_wave`; other files judge
for one of them (pure), or ask a cluster (CUTOVER_ADAPTERS of the import tests). `way_back` begins the opposite flow.
A failover has the steps of `failover_preflight`, `failover_groups` and `failover_open`, which ask the target alone. `close_flow` closes and
reopens a flow; `source_comparison` compares a source that came back, and `export_files` keeps what only it has.
`wave` is what moves together, and `findings` is how a stop, a warning and information are said.
No state is kept here: a step finds out from the clusters and the control topic what is left to do.

`airflow`, `cli`, `web` and every room above them may import it.
"""
