import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Counts what is wrong with a mirror, where Comparer shows the first difference. The request holds two reading requests, `source` and
 * `target`; both are read to their end. A record is known by the digest of all that must be equal. In each partition
 * - lost: records of the source that the target has not, or has less often;
 * - doubled: records of the target that the source has less often, but has;
 * - foreign: records of the target that the source has not at all (in what it shows to a reader of committed records);
 * - disordered: of the records that both have, how many must move to restore the source's order.
 */
final class Accountant {
    static JsonNode account(JsonNode request) {
        List<List<ByteBuffer>> source = read(request, "source");
        List<List<ByteBuffer>> target = read(request, "target");
        ArrayNode rows = Oracle.JSON.createArrayNode();
        for (int p = 0; p < Math.max(source.size(), target.size()); p++) {
            account(p, p < source.size() ? source.get(p) : List.of(), p < target.size() ? target.get(p) : List.of(), rows);
        }
        return rows;
    }

    /** What a topic shows to a reader, partition by partition: offsets, and the first eight bytes of each record's digest as a number. */
    static JsonNode digests(JsonNode request) {
        ObjectNode rows = Oracle.JSON.createObjectNode();
        try (Reader reader = new Reader(request)) {
            for (int p = 0; p < reader.partitions; p++) {
                ObjectNode row = rows.putObject(Integer.toString(p));
                row.putArray("offsets");
                row.putArray("digests");
            }
            reader.readAll(request, record -> {
                ObjectNode row = (ObjectNode) rows.get(Integer.toString(record.partition()));
                row.withArray("offsets").add(record.offset());
                row.withArray("digests").add(digest(record).getLong(0));
            });
        }
        return rows;
    }

    private static void account(int partition, List<ByteBuffer> source, List<ByteBuffer> target, ArrayNode rows) {
        Map<ByteBuffer, Deque<Integer>> waiting = new HashMap<>();
        for (int place = 0; place < source.size(); place++) {
            waiting.computeIfAbsent(source.get(place), digest -> new ArrayDeque<>()).add(place);
        }
        Set<ByteBuffer> known = new HashSet<>(source);
        List<Integer> places = new ArrayList<>();
        int doubled = 0;
        int foreign = 0;
        for (ByteBuffer record : target) {
            Deque<Integer> left = waiting.get(record);
            if (left != null && !left.isEmpty()) {
                places.add(left.poll());
            } else if (known.contains(record)) {
                doubled++;
            } else {
                foreign++;
            }
        }
        rows.addObject().put("partition", partition).put("source_records", source.size()).put("target_records", target.size())
            .put("lost", source.size() - places.size()).put("doubled", doubled).put("foreign", foreign)
            .put("disordered", places.size() - longestRising(places));
    }

    /** How many of the numbers may stay where they are: the length of the longest rising subsequence. No number comes twice. */
    private static int longestRising(List<Integer> numbers) {
        int[] ends = new int[numbers.size()];
        int length = 0;
        for (int number : numbers) {
            int at = -Arrays.binarySearch(ends, 0, length, number) - 1;
            ends[at] = number;
            length = Math.max(length, at + 1);
        }
        return length;
    }

    private static List<List<ByteBuffer>> read(JsonNode request, String side) {
        try (Reader reader = new Reader(request.required(side))) {
            List<List<ByteBuffer>> records = new ArrayList<>();
            for (int p = 0; p < reader.partitions; p++) {
                records.add(new ArrayList<>());
            }
            reader.readAll(request, record -> records.get(record.partition()).add(digest(record)));
            return records;
        }
    }

    private static ByteBuffer digest(ConsumerRecord<byte[], byte[]> record) {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
        add(digest, record.key());
        add(digest, record.value());
        digest.update(ByteBuffer.allocate(8).putLong(record.timestamp()).flip());
        for (Header header : record.headers()) {
            add(digest, header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8));
            add(digest, header.value());
        }
        return ByteBuffer.wrap(digest.digest());
    }

    /** With its length in front, so that null, empty and shifted borders differ. */
    private static void add(MessageDigest digest, byte[] bytes) {
        digest.update(ByteBuffer.allocate(4).putInt(bytes == null ? -1 : bytes.length).flip());
        if (bytes != null) {
            digest.update(bytes);
        }
    }

    private Accountant() {
    }
}
