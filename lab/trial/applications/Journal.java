import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What an application did, a line of words each; a line counts once it is flushed. */
final class Journal implements AutoCloseable {
    private final BufferedWriter file;

    Journal(String path) throws IOException {
        file = Files.newBufferedWriter(Path.of(path), StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    synchronized void write(Object... words) throws IOException {
        for (int i = 0; i < words.length; i++) {
            file.write((i > 0 ? " " : "") + words[i]);
        }
        file.write("\n");
    }

    synchronized void flush() throws IOException {
        file.flush();
    }

    @Override
    public synchronized void close() throws IOException {
        file.close();
    }
}
