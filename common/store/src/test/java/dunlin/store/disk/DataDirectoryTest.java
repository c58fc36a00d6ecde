package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.StoreException;
import dunlin.store.raft.OneRange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataDirectoryTest {
  @TempDir Path temporary;

  @Test
  void createsMissingFilesReadableByItsUserOnly() throws IOException {
    Path directory = temporary.resolve("some/where");
    try (var _ = DataDirectory.open(directory)) {
      for (String path : List.of("", "raft", "ranges"))
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve(path))))
            .isEqualTo("rwx------");
      for (String path : List.of("dunlin.node", "lock", "lock.owner"))
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve(path))))
            .isEqualTo("rw-------");
    }
  }

  @Test
  void keepsTheNodeAndRaisesItsIncarnation() {
    NodeIdentity first;
    try (var data = DataDirectory.open(temporary)) {
      first = data.identity();
    }
    assertThat(first.incarnation()).isEqualTo(1);
    for (int again = 2; again < 5; again++)
      try (var data = DataDirectory.open(temporary)) {
        assertThat(data.identity()).isEqualTo(new NodeIdentity(first.nodeId(), again));
      }
  }

  @Test
  void anIncarnationThatWasRaisedIsSmallerThanThatOfTheNextStart() {
    var data = DataDirectory.open(temporary);
    assertThat(data.raiseIncarnation()).isEqualTo(2);
    assertThat(data.raiseIncarnation()).isEqualTo(3);
    assertThat(data.identity().incarnation()).as("of the start").isEqualTo(1);
    data.close();
    assertThatThrownBy(data::raiseIncarnation).isInstanceOf(StoreException.class).hasMessageContaining("is closed");
    try (var again = DataDirectory.open(temporary)) {
      assertThat(again.identity()).isEqualTo(new NodeIdentity(data.identity().nodeId(), 4));
    }
  }

  @Test
  void refusesASecondNodeInThisProcess() {
    try (var first = DataDirectory.open(temporary)) {
      assertThatThrownBy(() -> DataDirectory.open(temporary.resolve("../" + temporary.getFileName())))
          .isInstanceOf(StoreException.class)
          .hasMessage("data directory " + temporary + " is in use by another Dunlin node (in this process)");
      assertThat(NodeIdentity.read(temporary)).as("nothing was raised").isEqualTo(first.identity());
    }
    DataDirectory.open(temporary).close();
  }

  @Test
  void refusesANodeInAnotherProcessAlsoAfterOneWasRefusedHere() throws Exception {
    try (var _ = DataDirectory.open(temporary)) {
      assertThatThrownBy(() -> DataDirectory.open(temporary)).isInstanceOf(StoreException.class);
      assertThat(openElsewhere(temporary))
          .contains("data directory " + temporary + " is in use by another Dunlin node (process "
              + ProcessHandle.current().pid() + ")");
    }
    assertThat(openElsewhere(temporary)).contains("opened");
  }

  @Test
  void takesOverFromAProcessThatWasKilled() throws Exception {
    Path copy = temporary.resolve("copy");
    try (var _ = DataDirectory.open(temporary.resolve("running"))) {
      OneRange.copy(temporary.resolve("running"), copy);
    }
    assertThat(copy.resolve("lock.owner")).exists();
    try (var data = DataDirectory.open(copy)) {
      assertThat(data.identity().incarnation()).isEqualTo(2);
    }
  }

  @Test
  void refusesADirectoryThatIsNotDunlinsAndLeavesItAlone() throws IOException {
    Files.writeString(temporary.resolve("thesis.tex"), "years of work");
    Files.createDirectory(temporary.resolve("raft"));
    var before = listing(temporary);

    assertThatThrownBy(() -> DataDirectory.open(temporary))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("data directory " + temporary + " is not Dunlin's")
        .hasMessageContaining("and no dunlin.node");
    assertThat(listing(temporary)).isEqualTo(before);
  }

  @Test
  void takesTheRootOfAFreshFileSystemAndWhatACrashLeftOfAFirstStart() throws IOException {
    Files.createDirectory(temporary.resolve("lost+found"));
    for (String file : List.of("lock", "lock.owner", "dunlin.node.new")) Files.createFile(temporary.resolve(file));
    DataDirectory.open(temporary).close();
  }

  @Test
  void saysWhyADirectoryCannotBeCreated() throws IOException {
    Path file = Files.createFile(temporary.resolve("file"));
    assertThatThrownBy(() -> DataDirectory.open(file))
        .isInstanceOf(StoreException.class)
        .hasMessage("directory " + file + " cannot be created: " + file + " is not a directory");
    assertThatThrownBy(() -> DataDirectory.open(file.resolve("below")))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("directory " + file + "/below cannot be created: ");
    assertThatThrownBy(() -> DataDirectory.open(Path.of("/proc/dunlin")))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("directory /proc/dunlin cannot be created: ");
  }

  @Test
  void refusesADirectoryThatIsNotWritable() {
    // Not even root may write here.
    assertThatThrownBy(() -> DataDirectory.open(Path.of("/proc/self/task")))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("data directory /proc/self/task");
  }

  @Test
  void refusesADamagedNodeFileWhateverTheDamage() throws IOException {
    DataDirectory.open(temporary).close();
    Path file = temporary.resolve("dunlin.node");
    byte[] good = Files.readAllBytes(file);

    for (int at = 0; at <= good.length; at++) {
      byte[] bad = at == good.length ? new byte[0] : good.clone();
      if (at < good.length) bad[at] ^= 0x10;
      Files.write(file, bad);
      assertThatThrownBy(() -> DataDirectory.open(temporary))
          .as("byte %d", at)
          .isInstanceOf(StoreException.class)
          .hasMessage("data directory " + temporary + ": its dunlin.node is corrupt");
      assertThat(Files.readAllBytes(file)).isEqualTo(bad);
    }
    for (int length = 0; length < good.length; length++) {
      Files.write(file, Arrays.copyOf(good, length));
      assertThatThrownBy(() -> DataDirectory.open(temporary)).isInstanceOf(StoreException.class);
    }

    Files.write(file, good);
    DataDirectory.open(temporary).close();
  }

  @Test
  void refusesAFormatOfTheFuture() throws IOException {
    byte[] future = {7, 'n', 'e', 'w'};
    var crc = new CRC32C();
    crc.update(future);
    byte[] file = ByteBuffer.allocate(8).put(future).putInt((int) crc.getValue()).array();
    Files.write(temporary.resolve("dunlin.node"), file);

    assertThatThrownBy(() -> DataDirectory.open(temporary))
        .isInstanceOf(StoreException.class)
        .hasMessage("data directory " + temporary + " is of format 7, this version of Dunlin reads format 5");
    assertThat(Files.readAllBytes(temporary.resolve("dunlin.node"))).isEqualTo(file);
  }

  private static Map<String, String> listing(Path directory) throws IOException {
    var found = new TreeMap<String, String>();
    try (var paths = Files.walk(directory)) {
      for (Path path : paths.toList())
        found.put(path.toString(), Files.isDirectory(path) ? "directory" : Files.readString(path));
    }
    return found;
  }

  /** The output of another process that opens the directory. */
  private static String openElsewhere(Path directory) throws Exception {
    var child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                OpenElsewhere.class.getName(),
                directory.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    child.waitFor();
    return said;
  }

  /** The main class of that process. */
  static final class OpenElsewhere {
    public static void main(String[] arguments) {
      try (var _ = DataDirectory.open(Path.of(arguments[0]))) {
        System.out.println("opened");
      } catch (StoreException e) {
        System.out.println(e.getMessage());
      }
    }
  }
}
