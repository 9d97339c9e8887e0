"""The status page, its decisions and the metrics: one web application that Airflow's api-server mounts.

`app` puts it together, `state` is what page and JSON show, `metrics` what Prometheus scrapes.

Only the plugin imports it.
"""
