"""Says how a flow stands: observation of both clusters, status, snapshots, throughput.

`observe` asks the clusters, `status` judges each partition, `snapshot` is what page and metrics show, `snapshot_cache` keeps the newest.

`alerts`, `backfill`, `cutover`, `migration` and every room above them may import it.
"""
