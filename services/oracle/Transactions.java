import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeaders;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

/** Records exactly as a test wants them, at once or in a transaction that stays open until it is ended by name. */
final class Transactions {
    private static final Map<String, Opened> OPEN = new HashMap<>();

    private record Opened(KafkaProducer<byte[], byte[]> producer, JsonNode request) {
    }

    static JsonNode produceRecords(JsonNode request) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = Generator.producer(request, null)) {
            return send(producer, request);
        }
    }

    /** Begins (or continues) the transaction `transactional_id`; its records are in the log when this returns. */
    static JsonNode open(JsonNode request) throws Exception {
        String name = request.required("transactional_id").asText();
        Opened opened = OPEN.get(name);
        if (opened == null) {
            opened = new Opened(Generator.producer(request, name), request);
            opened.producer.beginTransaction();
            OPEN.put(name, opened);
        }
        return send(opened.producer, request);
    }

    /** `outcome`: commit or abort, whose markers are in the log when this returns; abandon leaves it to the broker's transaction timeout. */
    static JsonNode end(JsonNode request) {
        String name = request.required("transactional_id").asText();
        Opened opened = OPEN.remove(name);
        if (opened == null) {
            throw new IllegalArgumentException("no transaction '" + name + "' is open");
        }
        String outcome = request.required("outcome").asText();
        switch (outcome) {
            case "commit" -> opened.producer.commitTransaction();
            case "abort" -> opened.producer.abortTransaction();
            case "abandon" -> { }
            default -> throw new IllegalArgumentException("unknown outcome " + outcome);
        }
        opened.producer.close(outcome.equals("abandon") ? Duration.ZERO : Duration.ofSeconds(10));
        if (!outcome.equals("abandon")) {
            Generator.awaitMarkers(opened.request, name);
        }
        return Oracle.JSON.createObjectNode();
    }

    private static ArrayNode send(KafkaProducer<byte[], byte[]> producer, JsonNode request) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : request.required("records")) {
            sent.add(producer.send(record(request.required("topic").asText(), record)));
        }
        producer.flush();
        ArrayNode rows = Oracle.JSON.createArrayNode();
        for (Future<RecordMetadata> future : sent) {
            rows.addObject().put("partition", future.get().partition()).put("offset", future.get().offset());
        }
        return rows;
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, JsonNode record) {
        RecordHeaders headers = new RecordHeaders();
        record.path("headers").forEach(header -> headers.add(header.get(0).asText(), Client.bytes(header.get(1))));
        Long timestamp = record.path("timestamp").isNumber() ? record.get("timestamp").asLong() : null;
        int partition = record.path("partition").asInt(0);
        return new ProducerRecord<>(topic, partition, timestamp, Client.bytes(record.get("key")), Client.bytes(record.get("value")), headers);
    }

    private Transactions() {
    }
}
