"""The real services that the tests and the demo run on: Kafka, PostgreSQL, Airflow, and an independent comparer. The product never imports it."""
