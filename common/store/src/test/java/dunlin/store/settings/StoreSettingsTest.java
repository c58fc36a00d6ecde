package dunlin.store.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class StoreSettingsTest {
  @Test
  void refusesValuesOutOfBoundsByName() {
    var d = StoreSettings.defaults();
    assertThat(d.fsync()).isTrue();
    assertThatThrownBy(() -> with(70_000, 64 * 1024, d.queue().bytesMax(), Duration.ofMinutes(1)))
        .hasMessage("cluster port is 70000, must be from 0 to 65535");
    assertThatThrownBy(() -> with(0, d.entries().bytesMax() + 1, d.queue().bytesMax(), Duration.ofMinutes(1)))
        .hasMessageContaining("entries.fullAt is 4194305");
    assertThatThrownBy(() -> with(0, 64 * 1024, 4L * d.entries().bytesMax() - 1, Duration.ofMinutes(1)))
        .hasMessageContaining("queue.bytesMax is 16777215");
    assertThatThrownBy(() -> with(0, 64 * 1024, d.queue().bytesMax(), Duration.ZERO))
        .hasMessageContaining("snapshots.age (ms) is 0");
  }

  @Test
  void refusesToKeepTooFewEntriesForASnapshot() {
    var usual = ClusterSettings.loopback(7000);
    var few =
        new ClusterSettings(
            usual.port(), usual.host(), usual.bindAddress(), usual.security(), usual.electionTimeout(), 39,
            usual.installBytesPerSecond(), usual.installDeadline());
    assertThatThrownBy(() -> StoreSettings.defaults().with(few)).hasMessageContaining("cluster.entriesKept is 39, must be from 40");
  }

  private static StoreSettings with(int port, int bytesPerEntry, long queuedBytes, Duration age) {
    var d = StoreSettings.defaults();
    return new StoreSettings(
        true,
        ClusterSettings.loopback(port),
        d.memoryBytes(),
        new StoreSettings.Disk(0, 0),
        new StoreSettings.Queue(16, queuedBytes),
        new StoreSettings.Entries(8, 256, bytesPerEntry, d.entries().bytesMax()),
        new StoreSettings.Snapshots(1000, 1 << 20, age),
        new StoreSettings.Reads(1, 1));
  }
}
