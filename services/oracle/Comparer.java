import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Compares a source topic with its mirror, record by record and in order, partition p with partition p. The request holds two reading
 * requests, `source` and `target`. Both sides stream: a partition whose one side runs ahead is held until the other has caught up.
 */
final class Comparer {
    private static final int AHEAD_RECORDS = 20_000;
    private static final long AHEAD_BYTES = 256L << 20;
    private static final int CONTEXT = 2;
    private static final int SHOWN_BYTES = 48;

    /** One partition: what waits on either side, how many came, and the first difference with its surroundings. */
    private static final class Lane {
        final Deque<ConsumerRecord<byte[], byte[]>> source = new ArrayDeque<>();
        final Deque<ConsumerRecord<byte[], byte[]>> target = new ArrayDeque<>();
        final Deque<Pair> before = new ArrayDeque<>();
        final List<ObjectNode> rows = new ArrayList<>();
        long sourceBytes;
        long targetBytes;
        long sourceCount;
        long targetCount;
        long equal;
        List<String> difference;
    }

    private record Pair(ConsumerRecord<byte[], byte[]> source, ConsumerRecord<byte[], byte[]> target) {
        ObjectNode describe() {
            ObjectNode row = Oracle.JSON.createObjectNode();
            row.set("source", source == null ? null : Reader.describe(source, SHOWN_BYTES));
            row.set("target", target == null ? null : Reader.describe(target, SHOWN_BYTES));
            return row.put("differs", String.join(", ", differences(source, target)));
        }
    }

    private final Reader source;
    private final Reader target;
    private final Lane[] lanes;
    private final long aheadBytes;

    private Comparer(Reader source, Reader target) {
        this.source = source;
        this.target = target;
        lanes = new Lane[Math.max(source.partitions, target.partitions)];
        Arrays.setAll(lanes, p -> new Lane());
        aheadBytes = AHEAD_BYTES / 2 / lanes.length;
    }

    static JsonNode compare(JsonNode request) {
        Deadline deadline = new Deadline(request);
        try (Reader source = new Reader(request.required("source")); Reader target = new Reader(request.required("target"))) {
            Comparer comparer = new Comparer(source, target);
            while (!source.finished() || !target.finished()) {
                comparer.step();
                deadline.check(() -> "the comparison of " + source.topic + " with " + target.topic + " did not end");
            }
            return comparer.report();
        }
    }

    private void step() {
        source.poll(record -> {
            Lane lane = lanes[record.partition()];
            lane.source.add(record);
            lane.sourceBytes += size(record);
            lane.sourceCount++;
        });
        target.poll(record -> {
            Lane lane = lanes[record.partition()];
            lane.target.add(record);
            lane.targetBytes += size(record);
            lane.targetCount++;
        });
        for (int p = 0; p < lanes.length; p++) {
            Lane lane = lanes[p];
            match(lane, source.finished(p) && target.finished(p));
            source.hold(p, lane.source.size() > AHEAD_RECORDS || lane.sourceBytes > aheadBytes);
            target.hold(p, lane.target.size() > AHEAD_RECORDS || lane.targetBytes > aheadBytes);
        }
    }

    /** Takes pairs off both sides; once both are read to their end, what is left on one side alone is a difference too. */
    private static void match(Lane lane, boolean ended) {
        while (!lane.source.isEmpty() && !lane.target.isEmpty() || ended && !(lane.source.isEmpty() && lane.target.isEmpty())) {
            ConsumerRecord<byte[], byte[]> left = lane.source.poll();
            ConsumerRecord<byte[], byte[]> right = lane.target.poll();
            lane.sourceBytes -= left == null ? 0 : size(left);
            lane.targetBytes -= right == null ? 0 : size(right);
            Pair pair = new Pair(left, right);
            if (lane.difference != null) {
                if (lane.rows.size() < 2 * CONTEXT + 1) {
                    lane.rows.add(pair.describe());
                }
                continue;
            }
            List<String> fields = differences(left, right);
            if (fields.isEmpty()) {
                lane.equal++;
                lane.before.add(pair);
                if (lane.before.size() > CONTEXT) {
                    lane.before.remove();
                }
            } else {
                lane.difference = fields;
                lane.before.forEach(earlier -> lane.rows.add(earlier.describe()));
                lane.rows.add(pair.describe());
            }
        }
    }

    private static List<String> differences(ConsumerRecord<byte[], byte[]> left, ConsumerRecord<byte[], byte[]> right) {
        if (left == null || right == null) {
            return List.of(left == null ? "only on the target" : "only on the source");
        }
        List<String> fields = new ArrayList<>(0);
        if (!Arrays.equals(left.key(), right.key())) {
            fields.add("key");
        }
        if (!Arrays.equals(left.value(), right.value())) {
            fields.add("value");
        }
        if (!sameHeaders(left.headers(), right.headers())) {
            fields.add("headers");
        }
        if (left.timestamp() != right.timestamp()) {
            fields.add("timestamp");
        }
        return fields;
    }

    private static boolean sameHeaders(Headers left, Headers right) {
        Header[] ours = left.toArray();
        Header[] theirs = right.toArray();
        if (ours.length != theirs.length) {
            return false;
        }
        for (int i = 0; i < ours.length; i++) {
            if (!ours[i].key().equals(theirs[i].key()) || !Arrays.equals(ours[i].value(), theirs[i].value())) {
                return false;
            }
        }
        return true;
    }

    private static long size(ConsumerRecord<byte[], byte[]> record) {
        return 100L + Math.max(record.serializedKeySize(), 0) + Math.max(record.serializedValueSize(), 0);
    }

    private JsonNode report() {
        ArrayNode rows = Oracle.JSON.createArrayNode();
        for (int p = 0; p < lanes.length; p++) {
            Lane lane = lanes[p];
            ObjectNode row = rows.addObject().put("partition", p).put("equal", lane.equal);
            row.put("source_records", lane.sourceCount).put("target_records", lane.targetCount);
            row.put("on_source", p < source.partitions).put("on_target", p < target.partitions);
            row.put("difference", lane.difference == null ? null : String.join(", ", lane.difference));
            row.putArray("rows").addAll(lane.rows);
        }
        return rows;
    }
}
