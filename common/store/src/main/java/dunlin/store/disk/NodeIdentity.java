package dunlin.store.disk;

import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * The identity of this node, and its incarnation, which rises with each opening and is raised in between. Without this file, the node becomes another node, never
 * the old one again.
 *
 * <p>On disk: format (1 byte), UUID (16), incarnation (8), CRC-32C of all that (4). In every format, the last four
 * bytes are the checksum of the rest, so that damage can be told apart from a newer format.
 */
public record NodeIdentity(UUID nodeId, long incarnation) {
  static final String FILE = "dunlin.node";
  static final String NEW_FILE = "dunlin.node.new";

  /**
   * The format of the whole directory; no version reads another format. 2: session rows have summaries. 3: headers of
   * messages name topics. 4: session rows begin with their shard. 5: routes are in the order of their filters.
   */
  private static final byte FORMAT = 5;
  private static final int LENGTH = 1 + 16 + 8 + 4;

  /** The format of data directories, and of the rows in them. */
  public static int format() {
    return FORMAT;
  }

  static NodeIdentity fresh() {
    return new NodeIdentity(UUID.randomUUID(), 0);
  }

  NodeIdentity next() {
    return new NodeIdentity(nodeId, incarnation + 1);
  }

  public static NodeIdentity read(Path directory) {
    byte[] bytes;
    try {
      bytes = Files.readAllBytes(directory.resolve(FILE));
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + ": its " + FILE + " cannot be read: " + e.getMessage(), e);
    }
    var in = ByteBuffer.wrap(bytes);
    if (bytes.length < 5 || in.getInt(bytes.length - 4) != checksum(bytes, bytes.length - 4))
      throw new StoreException("data directory " + directory + ": its " + FILE + " is corrupt");
    byte format = in.get();
    if (format != FORMAT || bytes.length != LENGTH)
      throw new StoreException(
          "data directory " + directory + " is of format " + format + ", this version of Dunlin reads format " + FORMAT);
    return new NodeIdentity(new UUID(in.getLong(), in.getLong()), in.getLong());
  }

  /** Replaces the file; when this returns the new one is on disk. */
  void write(Path directory) throws IOException {
    var out = ByteBuffer.allocate(LENGTH);
    out.put(FORMAT)
        .putLong(nodeId.getMostSignificantBits())
        .putLong(nodeId.getLeastSignificantBits())
        .putLong(incarnation);
    out.putInt(checksum(out.array(), out.position())).flip();
    Path next = directory.resolve(NEW_FILE);
    Files.deleteIfExists(next);
    DataDirectory.createFile(next);
    try (var file = FileChannel.open(next, StandardOpenOption.WRITE)) {
      while (out.hasRemaining()) file.write(out);
      file.force(true);
    }
    Files.move(next, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    DataDirectory.force(directory);
  }

  private static int checksum(byte[] bytes, int length) {
    var crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
