"""Moves applications from a flow's source to its target, wave by wave, in steps that can be killed and run again.

- `wave`: what moves together, how its steps are run and taken back, and what the control topic keeps of it.
- `steps`: those of a planned wave, and what they ask of the clusters.
- `failover`: a wave whose source is lost, and a source that comes back.

A file judges (pure), or asks a cluster: CUTOVER_ADAPTERS of the import tests names the latter. No state is kept here: a step finds out from
the clusters and the control topic what is left to do.

`airflow`, `cli`, `web` and every room above them may import it.
"""
