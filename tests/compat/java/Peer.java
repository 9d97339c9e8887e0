package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * MirrorMaker 2's own classes behind JSON lines, to be compared with the mirror. A request is {"command": ..., arguments}; the answer, on one
 * line, is {"answer": ...}, or {"refused": ..., "kind": ...} for what a class threw. It ends at the end of its input.
 */
public final class Peer {
    /** Lone surrogates are part of what is compared, and UTF-8 has none. */
    static final ObjectMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    interface Command {
        JsonNode run(JsonNode request) throws Exception;
    }

    private static final Map<String, Command> COMMANDS = Map.ofEntries(
        Map.entry("version", request -> JSON.valueToTree(Runtime.version().feature())),
        Map.entry("properties", Texts::properties),
        Map.entry("pattern", Texts::pattern),
        Map.entry("policy", Names::policy),
        Map.entry("filters", Names::filters),
        Map.entry("selection", Names::selection),
        Map.entry("file", Configurations::file),
        Map.entry("names", Configurations::names),
        Map.entry("connectors", Configurations::connectors),
        Map.entry("connect_offsets", ConnectOffsets::written),
        Map.entry("client_topics", Clients::topics),
        Map.entry("translated", Clients::translated),
        Map.entry("translated_matching", Clients::translatedMatching),
        Map.entry("internal_record", Syncs::record),
        Map.entry("sync_store", Syncs::store),
        Map.entry("emitted_syncs", Syncs::emitted),
        Map.entry("emitted_checkpoints", Checkpoints::emitted),
        Map.entry("synced_groups", Checkpoints::synced),
        Map.entry("topic_configs", TopicSync::configs),
        Map.entry("topic_acls", TopicSync::acls),
        Map.entry("references", Configurations::references));

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints must not stand between the answers
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            return answer.set("answer", COMMANDS.get(request.required("command").asText()).run(request));
        } catch (Exception | StackOverflowError | ExceptionInInitializerError thrown) {
            return answer.put("kind", thrown.getClass().getSimpleName()).put("refused", String.valueOf(thrown.getMessage()));
        }
    }

    /** The string members of an object of the request, in their order. */
    static Map<String, String> strings(JsonNode object) {
        Map<String, String> strings = new LinkedHashMap<>();
        object.properties().forEach(entry -> strings.put(entry.getKey(), entry.getValue().asText()));
        return strings;
    }

    private Peer() {
    }
}
