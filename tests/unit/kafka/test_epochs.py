"""What a consumer's error says about the end of a leader epoch."""

from confluent_kafka import KafkaError

from mirror.kafka.list_offsets import epoch_end


def test_the_end_of_the_epoch_is_taken_from_the_clients_words():
    where = "Partition log truncation detected at offset 80 (leader epoch 0)"
    text = f"{where}: broker end offset is 50 (offset leader epoch 0). Reset to INVALID."
    assert epoch_end(KafkaError(KafkaError._AUTO_OFFSET_RESET, text)) == 50


def test_an_offset_that_is_out_of_range_tells_nothing_of_epochs():
    assert epoch_end(KafkaError(KafkaError._AUTO_OFFSET_RESET, "fetch failed due to requested offset not available on the broker")) is None
