import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Applications over Kafka's Java clients, as many as are asked for, controlled by JSON lines: {"command": "produce" | "consume" | "end", "name",
 * …}; the answer is {"answer": …} or {"error": …}. They write down in journals what they did; an application that was ended
 * may be started again on another cluster, and goes on where it was. It ends at the end of its input.
 */
public final class Applications {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final Map<String, Application> RUNNING = new HashMap<>();
    private static final Map<String, Producer.Numbers> NUMBERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                run(JSON.readTree(line));
                answer.putObject("answer");
            } catch (Throwable problem) {
                problem.printStackTrace();
                answer.put("error", problem.getClass().getSimpleName() + ": " + problem.getMessage());
            }
            answers.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private static void run(JsonNode request) throws Exception {
        String name = request.required("name").asText();
        switch (request.required("command").asText()) {
            case "produce" -> start(name, new Producer(request, NUMBERS.computeIfAbsent(name, each -> new Producer.Numbers())));
            case "consume" -> start(name, new Consumer(request));
            case "end" -> {
                Application running = RUNNING.remove(name);
                if (running == null) {
                    throw new IllegalStateException(name + " does not run");
                }
                running.end();
            }
            default -> throw new IllegalArgumentException("unknown command " + request.path("command"));
        }
    }

    private static void start(String name, Application application) {
        if (RUNNING.putIfAbsent(name, application) != null) {
            throw new IllegalStateException(name + " runs already");
        }
        application.start();
    }

    private Applications() {
    }
}
