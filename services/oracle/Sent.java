import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Sends records and keeps the first failure of any of them, which would otherwise go unseen. */
final class Sent {
    private volatile Exception failure;

    void send(KafkaProducer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record) {
        producer.send(record, (metadata, problem) -> {
            if (problem != null && failure == null) {
                failure = problem;
            }
        });
    }

    void check() throws Exception {
        if (failure != null) {
            throw failure;
        }
    }
}
