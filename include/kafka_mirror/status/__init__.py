"""Says how a flow stands: observation of both clusters, status, problems, snapshots, throughput.

`observe` asks the clusters, `status` says how each partition stands, `judge` which problems the flow has: page, metrics, alerts and the
command line ask it. `snapshot` is what page and metrics show, `snapshot_cache` keeps the newest.

`alerts`, `backfill`, `cutover`, `migration` and every room above them may import it.
"""
