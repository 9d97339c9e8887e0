import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The independent witness of the tests: Kafka's own Java clients, controlled by JSON lines. A request is {"command": ..., arguments}; the answer,
 * on one line, is {"answer": ...} or {"error": "what went wrong"}. It ends at the end of its input. It shares no code with the mirror.
 */
public final class Oracle {
    static final ObjectMapper JSON = new ObjectMapper();

    interface Command {
        JsonNode run(JsonNode request) throws Exception;
    }

    private static final Map<String, Command> COMMANDS = Map.ofEntries(
        Map.entry("ping", request -> JSON.createObjectNode()),
        Map.entry("compare", Comparer::compare),
        Map.entry("account", Accountant::account),
        Map.entry("digests", Accountant::digests),
        Map.entry("count", Reader::count),
        Map.entry("dump", Reader::dump),
        Map.entry("produce", Generator::produce),
        Map.entry("produce-records", Transactions::produceRecords),
        Map.entry("produce-raw", RawProducer::produce),
        Map.entry("open-transaction", Transactions::open),
        Map.entry("end-transaction", Transactions::end),
        Map.entry("create-topic", Administrator::createTopic),
        Map.entry("delete-topic", Administrator::deleteTopic),
        Map.entry("describe-topic", Administrator::describeTopic),
        Map.entry("create-partitions", Administrator::createPartitions),
        Map.entry("delete-records", Administrator::deleteRecords),
        Map.entry("alter-configs", Administrator::alterConfigs),
        Map.entry("alter-quotas", Administrator::alterQuotas),
        Map.entry("move-replicas", Administrator::moveReplicas),
        Map.entry("elect-leaders", Administrator::electLeaders),
        Map.entry("transaction-coordinator", Administrator::transactionCoordinator),
        Map.entry("create-acls", Administrator::createAcls),
        Map.entry("delete-acls", Administrator::deleteAcls),
        Map.entry("describe-topics", Describer::topics),
        Map.entry("describe-acls", Describer::acls));

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints must not stand between the answers
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(answer(line)));
        }
        System.exit(0); // a transaction that was left open keeps its producer's threads
    }

    private static ObjectNode answer(String line) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            JsonNode request = JSON.readTree(line);
            Command command = COMMANDS.get(request.path("command").asText());
            if (command == null) {
                return answer.put("error", "unknown command " + request.path("command"));
            }
            answer.set("answer", command.run(request));
        } catch (Throwable problem) {
            problem.printStackTrace();
            Throwable cause = problem instanceof java.util.concurrent.ExecutionException && problem.getCause() != null ? problem.getCause() : problem;
            answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
        return answer;
    }

    private Oracle() {
    }
}
