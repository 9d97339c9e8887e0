"""The real services of tests and demo: Kafka, PostgreSQL, Airflow and an independent comparer. The product never imports it."""
