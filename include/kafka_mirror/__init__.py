"""Mirrors Apache Kafka clusters in short, bounded batch jobs.

The rooms on their floors, each importing only what stands on lower ones: `errors` and `watchdog`; `formats`, `policy` and `logins`;
`config` and `kafka`; `ledger` and `spark`; `topics` and `groups`; `copy`; `audit` and `decide`; `status`, `backfill` and `migration`;
`cutover`; `airflow`, `cli` and `web`. Above them `client` and `__main__`.
"""

__version__ = "1.0.0"
