import com.fasterxml.jackson.databind.JsonNode;

import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

/** What the clients have in common: their settings from a request, and bytes as hex with null kept apart from empty. */
final class Client {
    private static final HexFormat HEX = HexFormat.of();

    /** bootstrap.servers and whatever the request's "client" object adds (SASL, TLS). */
    static Map<String, Object> settings(JsonNode request) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", request.required("bootstrap").asText());
        settings.put("reconnect.backoff.max.ms", 200);
        request.path("client").properties().forEach(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        return settings;
    }

    static byte[] bytes(JsonNode hex) {
        return hex == null || hex.isNull() || hex.isMissingNode() ? null : HEX.parseHex(hex.asText());
    }

    static String hex(byte[] bytes) {
        return bytes == null ? null : HEX.formatHex(bytes);
    }

    /** At most this many bytes; the length follows where something was cut. */
    static String hex(byte[] bytes, int limit) {
        if (bytes == null || bytes.length <= limit) {
            return hex(bytes);
        }
        return HEX.formatHex(bytes, 0, limit) + "... (" + bytes.length + " bytes)";
    }

    private Client() {
    }
}
