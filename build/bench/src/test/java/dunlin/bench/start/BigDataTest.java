package dunlin.bench.start;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.repair.StoredSessions;
import dunlin.retain.RetainRepair;
import dunlin.store.disk.StoredRows;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Makes a small data directory and checks that it has the requested contents. */
class BigDataTest {
  @TempDir Path directory;

  @Test
  void theDirectoryHasAsMuchOfEachAsItWasToldTo() {
    var output = new ByteArrayOutputStream();

    BigData.make(directory, new BigData.Sizes(300, 900, 200, 100, 64), new PrintStream(output, true, StandardCharsets.UTF_8));

    assertThat(output.toString(StandardCharsets.UTF_8)).contains("300 sessions made", "200 retained messages made", "300 messages made");
    try (StoredRows rows = StoredRows.open(directory)) {
      var sessions = StoredSessions.read(rows.of(InboxSettings.defaults().layout().rangeIds().getFirst()), 5);
      assertThat(sessions.sessions()).isEqualTo(300);
      assertThat(sessions.subscriptions()).isEqualTo(300);
      assertThat(sessions.messages()).isEqualTo(900);
      assertThat(sessions.wrong()).isEmpty();
      assertThat(RetainRepair.read(rows.of(RetainRepair.RANGE), 5).messages()).isEqualTo(200);
    }
  }
}
