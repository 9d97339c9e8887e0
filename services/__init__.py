"""The real services of tests and demo: Kafka, PostgreSQL, Airflow and an independent choose_comparison. The product never imports it."""
