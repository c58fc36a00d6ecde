package dunlin.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;

/**
 * Makes every fsync of one process's Raft log wait or fail. src/main/c/fsync.c implements it, and reads the control
 * file before each fsync.
 */
public record FsyncFault(Path library, Path control) {
  private static final String LOG = "/raft/";

  public void slow(int millis) {
    say("slow " + millis + " " + LOG);
  }

  public void fail() {
    say("fail 0 " + LOG);
  }

  public void none() {
    say("");
  }

  public Map<String, String> environment() {
    return Map.of("LD_PRELOAD", library.toString(), "DLCHAOS_FSYNC", control.toString());
  }

  private void say(String what) {
    Path half = control.resolveSibling(control.getFileName() + ".new");
    try {
      Files.writeString(half, what);
      Files.move(half, control, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
