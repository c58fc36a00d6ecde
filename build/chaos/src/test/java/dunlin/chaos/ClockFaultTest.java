package dunlin.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClockFaultTest {
  @TempDir Path directory;

  private long nanos(Path control) throws IOException {
    byte[] bytes = Files.readAllBytes(control);
    assertThat(bytes).hasSize(Long.BYTES);
    return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).getLong();
  }

  /** Processes have mapped the file, so it must remain the same. */
  @Test
  void theFileThatAProcessHasMappedIsChangedInPlace() throws IOException {
    Path control = directory.resolve("clock");
    Path seen = directory.resolve("seen");
    var fault = new ClockFault(directory.resolve("clock.so"), control);
    fault.ahead(Duration.ofMinutes(10));
    Files.createLink(seen, control);
    assertThat(nanos(seen)).isEqualTo(600_000_000_000L);
    fault.ahead(Duration.ofMinutes(-10));
    assertThat(nanos(seen)).isEqualTo(-600_000_000_000L);
    fault.ahead(Duration.ZERO);
    assertThat(nanos(seen)).isZero();
  }
}
