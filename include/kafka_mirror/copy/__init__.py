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
| `engine`, `batches/` | moves a transaction: what it is given and gives back; what moves it, batch by batch |
| `model`, `run`, `job` | a lane's task and result, lanes side by side in a process and their shares of the budget, and as a job on Spark |
| `follow`, `run_result` | a run that follows until the next one is due, and what came of its plans together |
| `publish`, `verdict` | after the copy: what the ledger says, and whether that is what was planned |

`audit`, `decide` and every room above them may import it.
"""
