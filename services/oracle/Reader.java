import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Reads one topic from its start to where it ended when reading began, all partitions at once. `start` and `end` of a request are
 * {partition: offset}. With isolation read_committed the end is the last stable offset, and aborted records do not appear.
 */
final class Reader implements AutoCloseable {
    final String topic;
    final int partitions;
    final long[] starts;
    final long[] ends;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final TopicPartition[] names;
    private final BitSet unfinished = new BitSet();
    private final BitSet held = new BitSet();

    Reader(JsonNode request) {
        topic = request.required("topic").asText();
        Map<String, Object> settings = Client.settings(request);
        settings.put("isolation.level", request.path("isolation").asText("read_committed"));
        settings.put("auto.offset.reset", "none");
        settings.put("enable.auto.commit", false);
        settings.put("allow.auto.create.topics", false);
        settings.put("max.poll.records", 5000);
        settings.put("max.partition.fetch.bytes", 4 << 20);
        settings.put("fetch.max.wait.ms", 20);
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> assigned = new ArrayList<>();
        consumer.partitionsFor(topic).forEach(info -> assigned.add(new TopicPartition(topic, info.partition())));
        if (assigned.isEmpty()) {
            consumer.close();
            throw new IllegalArgumentException("there is no topic " + topic + " at " + settings.get("bootstrap.servers"));
        }
        partitions = assigned.size();
        names = new TopicPartition[partitions];
        starts = new long[partitions];
        ends = new long[partitions];
        assigned.forEach(name -> names[name.partition()] = name);
        consumer.assign(assigned);
        consumer.beginningOffsets(assigned).forEach((name, offset) -> starts[name.partition()] = offset);
        consumer.endOffsets(assigned).forEach((name, offset) -> ends[name.partition()] = offset);
        override(request.path("start"), starts);
        override(request.path("end"), ends);
        for (int p = 0; p < partitions; p++) {
            consumer.seek(names[p], starts[p]);
            if (starts[p] < ends[p]) {
                unfinished.set(p);
            } else {
                consumer.pause(List.of(names[p]));
            }
        }
    }

    /** Whether this partition has nothing more to give. A partition that does not exist is finished. */
    boolean finished(int partition) {
        return !unfinished.get(partition);
    }

    boolean finished() {
        return unfinished.isEmpty();
    }

    /** Stops (or goes on) fetching a partition whose records were not taken yet. */
    void hold(int partition, boolean hold) {
        if (held.get(partition) != hold && unfinished.get(partition)) {
            held.set(partition, hold);
            if (hold) {
                consumer.pause(List.of(names[partition]));
            } else {
                consumer.resume(List.of(names[partition]));
            }
        }
    }

    /** Hands over what has arrived. A partition ends by its position, which also passes transaction markers and aborted records. */
    void poll(Consumer<ConsumerRecord<byte[], byte[]>> sink) {
        if (unfinished.cardinality() == held.cardinality()) {
            return;
        }
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(20))) {
            if (record.offset() < ends[record.partition()]) {
                sink.accept(record);
            }
        }
        for (int p = unfinished.nextSetBit(0); p >= 0; p = unfinished.nextSetBit(p + 1)) {
            if (consumer.position(names[p]) >= ends[p]) {
                unfinished.clear(p);
                held.clear(p);
                consumer.pause(List.of(names[p]));
            }
        }
    }

    void readAll(JsonNode request, Consumer<ConsumerRecord<byte[], byte[]>> sink) {
        Deadline deadline = new Deadline(request);
        while (!finished()) {
            poll(sink);
            deadline.check(() -> topic + ": partitions " + unfinished + " did not reach their end");
        }
    }

    @Override
    public void close() {
        consumer.close();
    }

    static JsonNode count(JsonNode request) {
        try (Reader reader = new Reader(request)) {
            long[] counts = new long[reader.partitions];
            reader.readAll(request, record -> counts[record.partition()]++);
            ArrayNode rows = Oracle.JSON.createArrayNode();
            for (int p = 0; p < reader.partitions; p++) {
                rows.addObject().put("partition", p).put("start", reader.starts[p]).put("end", reader.ends[p]).put("records", counts[p]);
            }
            return rows;
        }
    }

    static JsonNode dump(JsonNode request) {
        ArrayNode rows = Oracle.JSON.createArrayNode();
        try (Reader reader = new Reader(request)) {
            reader.readAll(request, record -> rows.add(describe(record, Integer.MAX_VALUE)));
        }
        return rows;
    }

    static ObjectNode describe(ConsumerRecord<byte[], byte[]> record, int limit) {
        ObjectNode row = Oracle.JSON.createObjectNode();
        row.put("partition", record.partition()).put("offset", record.offset());
        row.put("timestamp", record.timestamp()).put("timestamp_type", record.timestampType().toString());
        row.put("key", Client.hex(record.key(), limit)).put("value", Client.hex(record.value(), limit));
        ArrayNode headers = row.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(Client.hex(header.value(), limit));
        }
        return row;
    }

    private static void override(JsonNode given, long[] offsets) {
        given.properties().forEach(entry -> offsets[Integer.parseInt(entry.getKey())] = entry.getValue().asLong());
    }
}
