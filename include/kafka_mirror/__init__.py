"""Mirrors Apache Kafka clusters in short, bounded batch jobs.

The rooms, each importing only what stands before it: `errors` and `watchdog`, `offsets`, `formats`, then `decisions`, `policy` and
`translation`, `logins`, `config`, then `kafka` and `spark`, `sync`, then `plan` and `schemas`, `copy`, then `audit`, `decide` and `status`,
then `alerts`, `backfill`, `cutover` and `migration`, then `airflow`, `cli` and `web`, and last `client` and `__main__`.
"""

__version__ = "1.0.0"
