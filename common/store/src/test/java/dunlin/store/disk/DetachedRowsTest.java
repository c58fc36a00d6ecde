package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.raft.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DetachedRowsTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");

  @TempDir private Path directory;

  /** Rows of a placed range, up to an entry. */
  private Path rows(String name, KeyInterval keys, long index, String... all) {
    Path made = directory.resolve(name);
    try (var memory = new RocksMemory(8 * 1024 * 1024)) {
      var rows = RocksRange.open(RANGE, made, memory, _ -> {});
      rows.place(Placed.begin(new RangeDescriptor(RANGE.uuid(), RANGE.kind(), keys, 3, List.of(new UUID(1, 1)), null)));
      var pending = new PendingRows(rows, _ -> {});
      for (String row : all) pending.put(Command.bytes(row), Command.bytes("value of " + row));
      rows.write(pending, new LogPosition(2, index));
      rows.flush();
      rows.closeNow();
    }
    return made;
  }

  @Test
  void rowsSayWhatTheyAre() throws IOException {
    var keys = KeyInterval.all().below(Command.bytes("m"));
    Path made = rows("lower", keys, 42, "a", "b", "c");

    var content = DetachedRows.read(made);

    assertThat(content.rows()).isEqualTo(3);
    assertThat(content.position()).isEqualTo(new LogPosition(2, 42));
    assertThat(content.descriptor().orElseThrow().keys()).isEqualTo(keys);
    assertThat(content.descriptor().orElseThrow().epoch()).isEqualTo(3);
    try (var found = Files.list(made)) {
      assertThat(found.map(path -> path.getFileName().toString())).as("nothing is written by reading").noneMatch(name -> name.startsWith("LOG"));
    }
  }

  @Test
  void rowsOfTwoRangesBecomeThoseOfOneThatBegins() throws IOException {
    Path lower = rows("lower", KeyInterval.all().below(Command.bytes("m")), 42, "a", "b");
    Path upper = rows("upper", KeyInterval.all().from(Command.bytes("m")), 7, "m", "z");

    DetachedRows.beginWith(lower, upper);

    var content = DetachedRows.read(lower);
    assertThat(content.rows()).isEqualTo(4);
    assertThat(content.position()).isEqualTo(LogPosition.NONE);
    assertThat(content.descriptor()).isEmpty();
    assertThat(DetachedRows.read(upper).rows()).as("these are not changed").isEqualTo(2);
    try (var memory = new RocksMemory(8 * 1024 * 1024)) {
      var rows = RocksRange.open(RANGE, lower, memory, _ -> {});
      for (String key : List.of("a", "b", "m", "z")) assertThat(rows.get(Command.bytes(key))).isEqualTo(Command.bytes("value of " + key));
      rows.closeNow();
    }
  }

  @Test
  void whatIsNoDatabaseIsRefused() throws IOException {
    Path other = Files.createDirectories(directory.resolve("other"));
    assertThatThrownBy(() -> DetachedRows.read(other)).isInstanceOf(IOException.class).hasMessageContaining("cannot be read");
    assertThatThrownBy(() -> DetachedRows.begin(other)).isInstanceOf(IOException.class).hasMessageContaining("cannot be written");
  }
}
