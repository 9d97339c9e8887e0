"""`make demo`: two Kafka clusters, a producer, and an Airflow that mirrors one into the other, left running until `make stop`."""
