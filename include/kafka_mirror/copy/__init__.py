"""How a lane is copied, exactly once; how far the run came, by the ledger; and whether it was good.

| file | what it is |
|---|---|
| `plan/` | what a run has to copy, before any lane; it imports nothing of the lanes |
| `lane_protocol` | **the protocol**: one pass over a lane, transaction after transaction, and the order of its checks |
| `lane_preflight` | its beginning: the fenced lane's own ledger beside what the target looks like |
| `lane`, `lane_state`, `lane_log` | passes over the protocol until the lane is done, what is known over them, what is said of them |
| `ledger_updates`, `history` | the ledger record that a transaction leaves; the same of a range that lies before the watermark |
| `next_transaction`, `throttle` | what a transaction holds, and when it may begin |
| `remote_partitions` | the target as a lane finds it |
| `batches/` | the engine: moves a transaction, batch by batch |
| `model` | what a lane and its engine are given to do, and what they answer |
| `run` | lanes side by side in a process and their shares of the budget, and as a job on Spark |
| `follow`, `follow_turn` | a run that follows until the next one is due; what its lanes ask in each turn |
| `publish`, `run_result` | after the copy: what the ledger says; what came of the run, and whether that is what was planned |

`audit`, `decide` and every room above them may import it.
"""
