import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/**
 * Numbers its records, for each partition by itself, and writes down those that were acknowledged: `acked topic partition number offset
 * cluster ms`. Records go in rounds of a few, each a transaction if the producer has a transactional id. After a round that failed it is
 * unknown which records are in the log: `doubt topic partition first last`; they are not sent again under the same numbers.
 */
final class Producer extends Application {
    private static final int ROUND = 5;

    /** The next number of each partition, through all starts of one application. */
    static final class Numbers {
        final Map<Integer, Long> next = new HashMap<>();
    }

    private final Map<String, Object> settings = new HashMap<>();
    private final String name;
    private final String cluster;
    private final String topic;
    private final int partitions;
    private final long pauseMs;
    private final Numbers numbers;
    private final Journal journal;

    Producer(JsonNode request, Numbers numbers) throws Exception {
        this.numbers = numbers;
        name = request.required("name").asText();
        cluster = request.required("cluster").asText();
        topic = request.required("topic").asText();
        partitions = request.required("partitions").asInt();
        pauseMs = request.path("pause_ms").asLong(20);
        journal = new Journal(request.required("journal").asText());
        settings.put("bootstrap.servers", request.required("bootstrap").asText());
        settings.put("linger.ms", 2);
        settings.put("delivery.timeout.ms", request.path("delivery_timeout_ms").asInt(60_000));
        settings.put("request.timeout.ms", 5_000);
        settings.put("max.block.ms", request.path("delivery_timeout_ms").asInt(60_000));
        request.path("client").properties().forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        if (request.hasNonNull("transactional_id")) {
            settings.put("transactional.id", request.path("transactional_id").asText());
            settings.put("transaction.timeout.ms", request.path("transaction_timeout_ms").asInt(20_000));
        }
    }

    @Override
    void work() throws Exception {
        KafkaProducer<byte[], byte[]> producer = null;
        try {
            while (!isEnding()) {
                if (producer == null) {
                    producer = open();
                } else if (!round(producer)) {
                    producer.close(Duration.ZERO);
                    producer = null;
                }
                Thread.sleep(pauseMs);
            }
        } finally {
            if (producer != null) {
                producer.close(Duration.ofSeconds(30));
            }
            journal.close();
        }
    }

    private boolean isTransactional() {
        return settings.containsKey("transactional.id");
    }

    /** A producer that may begin; null if the cluster did not let it, which is tried again. */
    private KafkaProducer<byte[], byte[]> open() throws Exception {
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        try {
            if (isTransactional()) {
                producer.initTransactions();
            }
            return producer;
        } catch (KafkaException problem) {
            journal.write("failed", reason(problem));
            journal.flush();
            producer.close(Duration.ZERO);
            return null;
        }
    }

    /** Sends a round, and says whether the producer is good for another one. */
    private boolean round(KafkaProducer<byte[], byte[]> producer) throws Exception {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        List<Long> sentNumbers = new ArrayList<>();
        for (int i = 0; i < ROUND; i++) {
            for (int partition = 0; partition < partitions; partition++) {
                long number = numbers.next.merge(partition, 1L, Long::sum) - 1;
                byte[] value = (name + " " + number).getBytes(StandardCharsets.UTF_8);
                records.add(new ProducerRecord<>(topic, partition, null, value));
                sentNumbers.add(number);
            }
        }
        try {
            List<Future<RecordMetadata>> answers = new ArrayList<>();
            if (isTransactional()) {
                producer.beginTransaction();
            }
            for (ProducerRecord<byte[], byte[]> each : records) {
                answers.add(producer.send(each));
            }
            producer.flush();
            List<Long> offsets = new ArrayList<>();
            for (Future<RecordMetadata> each : answers) {
                offsets.add(each.get().offset());
            }
            if (isTransactional()) {
                producer.commitTransaction();
            }
            long now = System.currentTimeMillis();
            for (int i = 0; i < records.size(); i++) {
                journal.write("acked", topic, records.get(i).partition(), sentNumbers.get(i), offsets.get(i), cluster, now);
            }
            journal.flush();
            return true;
        } catch (Exception problem) {
            for (int i = 0; i < records.size(); i++) {
                journal.write("doubt", topic, records.get(i).partition(), sentNumbers.get(i), sentNumbers.get(i));
            }
            journal.write("failed", reason(problem));
            journal.flush();
            return false;
        }
    }

    private static String reason(Exception problem) {
        Throwable cause = problem instanceof ExecutionException && problem.getCause() != null ? problem.getCause() : problem;
        return (cause instanceof AuthorizationException ? "unauthorized " : "") + cause.getClass().getSimpleName();
    }
}
