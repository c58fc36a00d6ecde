package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.disk.DataDirectory;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.server.RaftServerConfigKeys.Rpc;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RatisSettingsTest {
  @TempDir Path directory;

  /**
   * One random timeout is running when the leader fails, and another must pass in silence. A third one passes when the
   * first request for votes fails, because the connection to the other node has not been used since that was away. Half
   * a second is for the rest.
   */
  @Test
  void aFailedLeaderIsReplacedWithinFiveSeconds() {
    try (var data = DataDirectory.open(directory)) {
      var properties = RatisSettings.of(StoreSettings.defaults().with(ClusterSettings.loopback(7000)), data);
      long least = Rpc.timeoutMin(properties).toLong(TimeUnit.MILLISECONDS);
      long most = Rpc.timeoutMax(properties).toLong(TimeUnit.MILLISECONDS);

      assertThat(3 * most).isLessThanOrEqualTo(4500);
      assertThat(most - least).as("otherwise two candidates collide again and again").isGreaterThanOrEqualTo(least / 2);
      assertThat(least).as("a pause of a busy machine is no reason to depose a leader").isGreaterThanOrEqualTo(1000);
    }
  }
}
