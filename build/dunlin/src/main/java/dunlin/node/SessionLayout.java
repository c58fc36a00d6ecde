package dunlin.node;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.store.StoreException;
import dunlin.store.disk.DurableFile;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Stores in the data directory how its sessions are divided into shards and ranges: by the settings of the first start,
 * unchangeable afterwards.
 */
public final class SessionLayout {
  /*
   * A start compares the settings with the file before it opens any range, since opening a range also creates it.
   * On disk: format (1 byte), shards (4), ranges (4).
   * Failure: different settings, and a file that is damaged or cannot be written, stop the start.
   */
  static final String FILE = "session-layout";
  private static final byte FORMAT = 1;
  private static final int LENGTH = 1 + 2 * Integer.BYTES;

  private SessionLayout() {}

  /**
   * Stores the layout in a directory without one.
   *
   * @throws StoreException when the sessions in the directory are divided in another way
   */
  static void keep(Path directory, Layout layout) {
    var kept = read(directory);
    if (kept.isEmpty()) {
      new DurableFile(directory.resolve(FILE)).write(ByteBuffer.allocate(LENGTH).put(FORMAT).putInt(layout.shards()).putInt(layout.ranges()).array());
      return;
    }
    require("dunlin.inbox.shards", layout.shards(), kept.get().shards(), directory);
    require("dunlin.inbox.ranges", layout.ranges(), kept.get().ranges(), directory);
  }

  private static void require(String setting, int wanted, int kept, Path directory) {
    if (wanted != kept)
      throw new StoreException(
          "%s is %d, but the sessions in data directory %s were stored with %d; it cannot be changed".formatted(setting, wanted, directory, kept));
  }

  /** The layout of a directory; empty when no broker has opened it. */
  public static Optional<Layout> read(Path directory) {
    return new DurableFile(directory.resolve(FILE)).read().map(bytes -> parse(directory, ByteBuffer.wrap(bytes)));
  }

  /** The settings that a start of a node with a directory must have, for a person; those of a directory that no broker has opened are the usual ones. */
  public static String settings(Path directory) {
    var layout = read(directory).orElse(InboxSettings.defaults().layout());
    return "dunlin.inbox.shards=%d and dunlin.inbox.ranges=%d".formatted(layout.shards(), layout.ranges());
  }

  private static Layout parse(Path directory, ByteBuffer bytes) {
    if (bytes.remaining() != LENGTH || bytes.get() != FORMAT)
      throw new StoreException("data directory " + directory + ": its file " + FILE + " is of no format that this version of Dunlin reads");
    return new Layout(bytes.getInt(), bytes.getInt());
  }
}
