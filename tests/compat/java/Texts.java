package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HexFormat;
import java.util.Properties;
import java.util.regex.Pattern;

/** What Java itself reads: properties files and regular expressions. */
final class Texts {
    static JsonNode properties(JsonNode request) throws IOException {
        return Peer.JSON.valueToTree(load(request));
    }

    static Properties load(JsonNode request) throws IOException {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(HexFormat.of().parseHex(request.required("bytes").asText())));
        return properties;
    }

    /** Which of the texts the pattern matches as a whole. */
    static JsonNode pattern(JsonNode request) {
        Pattern pattern = Pattern.compile(request.required("pattern").asText());
        ArrayNode matches = Peer.JSON.createArrayNode();
        request.required("texts").forEach(text -> matches.add(pattern.matcher(text.asText()).matches()));
        return matches;
    }

    private Texts() {
    }
}
