package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.Dunlin;
import dunlin.store.StoreException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A start on a disk that counts as nearly full, because a setting demands more free space than any disk has. */
class LowDiskStartIT {
  @TempDir Path directory;

  @Test
  void aStartWithoutRoomOnTheDiskFailsAndNamesTheSetting() {
    var node =
        Dunlin.builder().dataDirectory(directory).tcpPort(0).set("dunlin.admin.port", "-1").set("dunlin.store.disk-free-min", "1048576MiB");

    assertThatThrownBy(node::build)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("bytes left, less than")
        .hasMessageContaining("dunlin.store.disk-critical-min");
  }
}
