import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A member of a group that writes down each record before its position is committed: `read topic partition offset producer number cluster`.
 * It ends between two polls, so that nothing is written down and not committed. A commit that a broker does not answer is tried again; one
 * that is refused, for the group has other members now, is written down: `uncommitted`.
 */
final class Consumer extends Application {
    private static final Duration POLL = Duration.ofMillis(100);

    private final Map<String, Object> settings = new HashMap<>();
    private final List<String> topics = new ArrayList<>();
    private final String cluster;
    private final long pauseMs;
    private final Journal journal;

    Consumer(JsonNode request) throws Exception {
        cluster = request.required("cluster").asText();
        pauseMs = request.path("pause_ms").asLong(0);
        request.required("topics").forEach(each -> topics.add(each.asText()));
        journal = new Journal(request.required("journal").asText());
        settings.put("bootstrap.servers", request.required("bootstrap").asText());
        settings.put("group.id", request.required("group").asText());
        settings.put("group.protocol", request.path("protocol").asText("classic"));
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", 100);
        settings.put("fetch.max.wait.ms", 100);
        request.path("client").properties().forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
    }

    @Override
    void work() throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(topics);
            boolean committed = true;
            while (!isEnding() || !committed) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
                for (ConsumerRecord<byte[], byte[]> each : records) {
                    String value = new String(each.value(), StandardCharsets.UTF_8);
                    journal.write("read", each.topic(), each.partition(), each.offset(), value, cluster);
                }
                journal.flush();
                committed = records.isEmpty() && committed || commit(consumer);
                Thread.sleep(pauseMs);
            }
        } finally {
            journal.close();
        }
    }

    /** Whether the positions are committed; while the group rebalances they cannot be, and the next poll goes on with that. */
    private boolean commit(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        while (true) {
            try {
                consumer.commitSync();
                return true;
            } catch (RebalanceInProgressException problem) {
                return false;
            } catch (RetriableException problem) {
                Thread.sleep(100);
            } catch (Exception problem) {
                journal.write("uncommitted", problem.getClass().getSimpleName());
                journal.flush();
                return true;
            }
        }
    }
}
