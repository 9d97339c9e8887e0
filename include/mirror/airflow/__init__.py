"""The mirror's steps as Airflow tasks and DAGs: the only package of the library that imports Airflow."""
