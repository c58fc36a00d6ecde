package dunlin.store.disk;

import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * A small file that is replaced atomically: after a crash it is the old one or the new one. It ends with a checksum. Only
 * its owner can read and write it.
 */
public final class DurableFile {
  private final Path path;

  public DurableFile(Path path) {
    this.path = path;
  }

  /** @throws StoreException when there is a file that cannot be read or is damaged */
  public Optional<byte[]> read() {
    try {
      if (!Files.exists(path)) return Optional.empty();
      byte[] bytes = Files.readAllBytes(path);
      int length = bytes.length - Integer.BYTES;
      if (length < 0 || ByteBuffer.wrap(bytes).getInt(length) != checksum(bytes, length))
        throw new StoreException("the file " + path + " is damaged");
      return Optional.of(Arrays.copyOf(bytes, length));
    } catch (IOException e) {
      throw new StoreException("the file " + path + " cannot be read: " + e.getMessage(), e);
    }
  }

  /** When this returns, the new content is on disk. */
  public void write(byte[] content) {
    var out = ByteBuffer.allocate(content.length + Integer.BYTES).put(content);
    out.putInt(checksum(content, content.length)).flip();
    Path next = path.resolveSibling(path.getFileName() + ".new");
    try {
      Path directory = path.resolveSibling(".").normalize();
      if (!Files.isDirectory(directory)) {
        Files.createDirectories(directory);
        DataDirectory.force(directory.resolveSibling(".")); // its own entry
      }
      Files.deleteIfExists(next); // left over by a crash
      var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      try (var file = FileChannel.open(next, options, DataDirectory.only("rw-------"))) {
        while (out.hasRemaining()) file.write(out);
        file.force(true);
      }
      Files.move(next, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      forceDirectory();
    } catch (IOException e) {
      throw new StoreException("the file " + path + " cannot be written: " + e.getMessage(), e);
    }
  }

  public void delete() {
    try {
      if (Files.deleteIfExists(path)) forceDirectory();
    } catch (IOException e) {
      throw new StoreException("the file " + path + " cannot be deleted: " + e.getMessage(), e);
    }
  }

  private void forceDirectory() throws IOException {
    DataDirectory.force(path.resolveSibling("."));
  }

  private static int checksum(byte[] bytes, int length) {
    var crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
