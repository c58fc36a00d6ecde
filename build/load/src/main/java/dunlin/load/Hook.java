package dunlin.load;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A user's command that runs before or after a run. */
final class Hook {
  /* Owner: the thread that runs it, which waits up to MINUTES_MAX. Failure: a command that fails or does not end is an error. */
  private static final int MINUTES_MAX = 10;

  private Hook() {}

  /** Runs the command; its output goes to the tool's own output. */
  static void run(String when, String command) {
    try {
      Process process = new ProcessBuilder("sh", "-c", command).inheritIO().start();
      try {
        if (!process.waitFor(MINUTES_MAX, TimeUnit.MINUTES)) throw failed(when, command, "did not end in %d minutes".formatted(MINUTES_MAX), null);
      } finally {
        process.destroy();
      }
      if (process.exitValue() != 0) throw failed(when, command, "ended with status %d".formatted(process.exitValue()), null);
    } catch (IOException failure) {
      throw failed(when, command, "cannot be run: " + failure.getMessage(), failure);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw failed(when, command, "was interrupted", interrupt);
    }
  }

  private static IllegalArgumentException failed(String when, String command, String how, @Nullable Throwable cause) {
    return new IllegalArgumentException("the command %s the run (%s) %s".formatted(when, command, how), cause);
  }
}
