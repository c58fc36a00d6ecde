package dunlin.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;

/** Moves the wall clock of one process. src/main/c/clock.c implements it, and has the control file in its memory. */
public record ClockFault(Path library, Path control) {
  /** How far it is ahead of the machine's clock from now on; negative when it is behind. */
  public void ahead(Duration by) {
    var bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder()).putLong(by.toNanos()).array();
    try {
      // In place, since processes have mapped it.
      Files.write(control, bytes, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Map<String, String> environment() {
    return Map.of("LD_PRELOAD", library.toString(), "DLCHAOS_CLOCK", control.toString());
  }
}
