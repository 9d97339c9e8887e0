import com.fasterxml.jackson.databind.JsonNode;

import java.util.function.Supplier;

/** The `seconds` a request may take (120 unless it says otherwise): nothing waits for ever. */
final class Deadline {
    private final long seconds;
    private final long end;

    Deadline(JsonNode request) {
        seconds = request.path("seconds").asLong(120);
        end = System.nanoTime() + seconds * 1_000_000_000L;
    }

    void check(Supplier<String> state) {
        if (System.nanoTime() > end) {
            throw new IllegalStateException(state.get() + " within " + seconds + " s");
        }
    }
}
