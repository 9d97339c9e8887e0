import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.utils.ByteUtils;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Writes one uncompressed record batch byte by byte, for what no client would produce: a header key that is not UTF-8 (given as hex), a
 * timestamp of -1. Meant for a cluster of one broker: the first bootstrap address must lead the partition.
 */
final class RawProducer {
    private static final short VERSION = 12; // the last one that names topics instead of giving their ids
    private static final int CRC_AT = 17;
    private static final int CRC_FROM = 21;

    static JsonNode produce(JsonNode request) throws Exception {
        String topic = request.required("topic").asText();
        int partition = request.path("partition").asInt(0);
        ProduceRequestData.TopicProduceData data = new ProduceRequestData.TopicProduceData().setName(topic)
            .setPartitionData(List.of(new ProduceRequestData.PartitionProduceData().setIndex(partition).setRecords(batch(request.required("records")))));
        ProduceRequestData body = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(10_000)
            .setTopicData(new ProduceRequestData.TopicProduceDataCollection(List.of(data).iterator()));
        ProduceResponseData.PartitionProduceResponse answer = send(request, new ProduceRequest(body, VERSION)).data().responses().iterator().next()
            .partitionResponses().get(0);
        if (answer.errorCode() != 0) {
            throw Errors.forCode(answer.errorCode()).exception(answer.errorMessage());
        }
        return Oracle.JSON.createObjectNode().put("partition", partition).put("offset", answer.baseOffset());
    }

    private static ProduceResponse send(JsonNode request, ProduceRequest body) throws Exception {
        String[] address = request.required("bootstrap").asText().split(",")[0].split(":");
        RequestHeader header = new RequestHeader(ApiKeys.PRODUCE, VERSION, "oracle", 1);
        ByteBuffer message = body.serializeWithHeader(header);
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            socket.setSoTimeout(15_000);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(message.remaining());
            out.write(message.array(), message.arrayOffset() + message.position(), message.remaining());
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = in.readNBytes(in.readInt());
            ByteBuffer buffer = ByteBuffer.wrap(answer);
            ResponseHeader.parse(buffer, header.apiKey().responseHeaderVersion(VERSION));
            return ProduceResponse.parse(new ByteBufferAccessor(buffer), VERSION);
        }
    }

    private static MemoryRecords batch(JsonNode records) {
        ByteBuffer batch = ByteBuffer.allocate(1 << 20);
        long base = records.get(0).required("timestamp").asLong();
        long max = base;
        for (JsonNode record : records) {
            max = Math.max(max, record.required("timestamp").asLong());
        }
        batch.putLong(0).putInt(0).putInt(-1).put((byte) 2).putInt(0); // base offset, length, leader epoch, magic, checksum
        batch.putShort((short) 0).putInt(records.size() - 1).putLong(base).putLong(max); // attributes, last offset delta, timestamps
        batch.putLong(-1).putShort((short) -1).putInt(-1).putInt(records.size()); // producer id, epoch, sequence, count
        int delta = 0;
        for (JsonNode record : records) {
            ByteBuffer encoded = record(record, delta++, base);
            ByteUtils.writeVarint(encoded.remaining(), batch);
            batch.put(encoded);
        }
        batch.putInt(8, batch.position() - 12);
        CRC32C checksum = new CRC32C();
        checksum.update(batch.array(), CRC_FROM, batch.position() - CRC_FROM);
        batch.putInt(CRC_AT, (int) checksum.getValue());
        return MemoryRecords.readableRecords(batch.flip());
    }

    private static ByteBuffer record(JsonNode record, int delta, long base) {
        ByteBuffer encoded = ByteBuffer.allocate(1 << 19);
        encoded.put((byte) 0);
        ByteUtils.writeVarlong(record.required("timestamp").asLong() - base, encoded);
        ByteUtils.writeVarint(delta, encoded);
        field(Client.bytes(record.get("key")), encoded);
        field(Client.bytes(record.get("value")), encoded);
        ByteUtils.writeVarint(record.path("headers").size(), encoded);
        for (Iterator<JsonNode> headers = record.path("headers").elements(); headers.hasNext();) {
            JsonNode header = headers.next();
            field(Client.bytes(header.get(0)), encoded);
            field(Client.bytes(header.get(1)), encoded);
        }
        return encoded.flip();
    }

    private static void field(byte[] bytes, ByteBuffer into) {
        ByteUtils.writeVarint(bytes == null ? -1 : bytes.length, into);
        if (bytes != null) {
            into.put(bytes);
        }
    }

    private RawProducer() {
    }
}
