"""Says how a flow stands: observation of both clusters, status, problems, snapshots, throughput.

`observe` asks the clusters, `status` says how each partition stands, `judge` which problems the flow has: page, metrics, alerts and the
command line ask it. `snapshot` is what page and metrics show, `snapshot_cache` keeps the newest. `alerts` tells people on call,
and `steps` runs the steps beside the copy by their names.

`cutover` and every room above it may import it.
"""
