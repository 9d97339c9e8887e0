"""The status page, its decisions and the metrics: one web application that Airflow's api-server mounts.

`app` puts it together, `state` is what page and JSON show, `metrics` what Prometheus scrapes.

`__main__` and `client` may import it; only the plugin does.
"""
