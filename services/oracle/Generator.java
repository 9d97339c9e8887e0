import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Produces awkward records, the same for the same seed: null and empty keys and values, headers with null and empty values, repeated and
 * unusual names, timestamps out of order, sizes from nothing to `max_size`.
 *
 * <p>With `transactions` = records per transaction, `producers` producers take turns by chance, each in its own transaction, and flush now
 * and then, so that their batches interleave in the log; about `abort_percent` of the transactions are aborted.
 */
final class Generator {
    private static final String[] HEADER_NAMES = {"trace", "trace", "schema-id", "", "naïve-ключ-鍵", "a b=c"};

    private final JsonNode request;
    private final String topic;
    private final SplittableRandom random;
    private final int partitions;
    private final int minSize;
    private final int maxSize;
    private final boolean nullKeys;
    private final boolean nullValues;
    private final int keyCount;
    private final long firstTimestamp;
    private final int starts;
    private final byte[] text;

    private Generator(JsonNode request, int partitions) {
        this.request = request;
        this.partitions = partitions;
        topic = request.required("topic").asText();
        random = new SplittableRandom(request.path("seed").asLong(1));
        minSize = request.path("min_size").asInt(0);
        maxSize = request.path("max_size").asInt(200);
        nullKeys = request.path("null_keys").asBoolean(true);
        nullValues = request.path("null_values").asBoolean(true);
        keyCount = request.path("key_count").asInt(1000);
        firstTimestamp = request.path("timestamp").asLong(System.currentTimeMillis() - 60_000);
        starts = request.path("text_size").asInt(4096);
        text = new byte[Math.max(maxSize, 64) + starts];
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) (random.nextInt(4) == 0 ? random.nextInt(256) : "the order was shipped ".charAt(i % 22));
        }
    }

    static JsonNode produce(JsonNode request) throws Exception {
        int records = request.required("records").asInt();
        int perTransaction = request.path("transactions").asInt(0);
        List<Turn> turns = new ArrayList<>();
        try {
            for (int i = 0; i < request.path("producers").asInt(1); i++) {
                turns.add(new Turn(producer(request, perTransaction > 0 ? transactionalId(request, i) : null)));
            }
            Generator generator = new Generator(request, turns.get(0).producer.partitionsFor(request.required("topic").asText()).size());
            JsonNode sent = perTransaction > 0 ? generator.transactional(turns, records, perTransaction) : generator.plain(turns, records);
            for (int i = 0; perTransaction > 0 && i < turns.size(); i++) {
                awaitMarkers(request, transactionalId(request, i));
            }
            return sent;
        } finally {
            turns.forEach(turn -> turn.producer.close());
        }
    }

    private static String transactionalId(JsonNode request, int producer) {
        return request.path("transactional_id").asText("oracle") + "-" + producer;
    }

    /**
     * Waits until the markers of the last transaction stand in its partitions: the coordinator answers before it writes them, so a reader of
     * committed records may not see yet what was committed. It lets no other producer begin before.
     */
    static void awaitMarkers(JsonNode request, String transactionalId) {
        producer(request, transactionalId).close();
    }

    static KafkaProducer<byte[], byte[]> producer(JsonNode request, String transactionalId) {
        Map<String, Object> settings = Client.settings(request);
        settings.put("compression.type", request.path("codec").asText("none"));
        settings.put("batch.size", request.path("batch_size").asInt(65536));
        settings.put("linger.ms", request.path("linger_ms").asInt(5));
        settings.put("max.request.size", 16 << 20);
        settings.put("delivery.timeout.ms", 60_000);
        settings.put("request.timeout.ms", 20_000);
        settings.put("max.block.ms", 30_000);
        if (transactionalId != null) {
            settings.put("transactional.id", transactionalId);
            settings.put("transaction.timeout.ms", request.path("transaction_timeout_ms").asInt(60_000));
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        if (transactionalId != null) {
            producer.initTransactions();
        }
        return producer;
    }

    private static final class Turn {
        final KafkaProducer<byte[], byte[]> producer;
        int left;
        int sent;

        Turn(KafkaProducer<byte[], byte[]> producer) {
            this.producer = producer;
        }
    }

    private ObjectNode plain(List<Turn> turns, int records) throws Exception {
        Sent sent = new Sent();
        for (int n = 0; n < records; n++) {
            sent.send(turns.get(n % turns.size()).producer, record(n));
        }
        turns.forEach(turn -> turn.producer.flush());
        sent.check();
        return Oracle.JSON.createObjectNode().put("committed", records).put("aborted", 0);
    }

    private ObjectNode transactional(List<Turn> turns, int records, int perTransaction) throws Exception {
        int abortPercent = request.path("abort_percent").asInt(30);
        Sent sent = new Sent();
        int committed = 0;
        for (int n = 0; n < records; n++) {
            Turn turn = turns.get(random.nextInt(turns.size()));
            if (turn.left == 0) {
                turn.producer.beginTransaction();
                turn.left = 1 + random.nextInt(2 * perTransaction);
                turn.sent = 0;
            }
            sent.send(turn.producer, record(n));
            turn.sent++;
            if (random.nextInt(20) == 0) {
                turn.producer.flush();
            }
            if (--turn.left == 0) {
                committed += end(turn, random.nextInt(100) < abortPercent);
            }
        }
        for (Turn turn : turns) {
            committed += turn.left > 0 ? end(turn, false) : 0;
        }
        sent.check();
        return Oracle.JSON.createObjectNode().put("committed", committed).put("aborted", records - committed);
    }

    /** Flushed first: an abort drops what was not sent yet, and then there would be nothing aborted in the log. */
    private static int end(Turn turn, boolean abort) {
        turn.producer.flush();
        turn.left = 0;
        if (abort) {
            turn.producer.abortTransaction();
            return 0;
        }
        turn.producer.commitTransaction();
        return turn.sent;
    }

    private ProducerRecord<byte[], byte[]> record(int n) {
        JsonNode only = request.path("partition");
        int partition = only.isInt() ? only.asInt() : random.nextInt(partitions);
        long timestamp = firstTimestamp + n / 10 + random.nextInt(50);
        return new ProducerRecord<>(topic, partition, timestamp, key(), value(n), headers());
    }

    private byte[] key() {
        int kind = nullKeys ? random.nextInt(100) : 99;
        return kind < 10 ? null : kind < 15 ? new byte[0] : ("key-" + random.nextInt(keyCount)).getBytes(StandardCharsets.UTF_8);
    }

    private byte[] value(int n) {
        int kind = nullValues ? random.nextInt(100) : 99;
        if (kind < 10) {
            return kind < 5 ? null : new byte[0];
        }
        int size = minSize + (int) ((maxSize - minSize) * Math.pow(random.nextDouble(), 2));
        byte[] value = new byte[size];
        System.arraycopy(text, random.nextInt(starts), value, 0, size);
        byte[] number = Integer.toString(n).getBytes(StandardCharsets.UTF_8);
        System.arraycopy(number, 0, value, 0, Math.min(number.length, size));
        return value;
    }

    private RecordHeaders headers() {
        RecordHeaders headers = new RecordHeaders();
        for (int i = Math.max(0, random.nextInt(7) - 3); request.path("headers").asBoolean(true) && i > 0; i--) {
            int kind = random.nextInt(10);
            byte[] value = kind == 0 ? null : kind == 1 ? new byte[0] : new byte[] {(byte) random.nextInt(256), (byte) kind};
            headers.add(HEADER_NAMES[random.nextInt(HEADER_NAMES.length)], value);
        }
        return headers;
    }
}
