/** An application that runs until it is ended. */
abstract class Application extends Thread {
    private volatile boolean ending;
    private volatile Exception failure;

    Application() {
        setDaemon(true);
    }

    /** Works until `isEnding`, and then ends in order: what it did stands in its journal. */
    abstract void work() throws Exception;

    final boolean isEnding() {
        return ending;
    }

    @Override
    public final void run() {
        try {
            work();
        } catch (Exception problem) {
            failure = problem;
        }
    }

    /** Lets it end what is under way, and waits for that. Throws what it failed by. */
    final void end() throws Exception {
        ending = true;
        join();
        if (failure != null) {
            throw failure;
        }
    }
}
