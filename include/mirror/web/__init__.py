"""The status page, its decisions and the metrics, as one web application that Airflow's api-server mounts."""
