package dunlin.broker.listen;

import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

/** The file of a Unix domain socket, which outlives a process that was killed. */
record UnixSocketFile(Path path) {

  /**
   * Removes the file of a broker that no longer runs.
   *
   * @throws IOException if it is another kind of file, or a process listens on it
   */
  void clear() throws IOException {
    BasicFileAttributes attributes;
    try {
      attributes = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    } catch (NoSuchFileException _) {
      return;
    }
    if (!attributes.isOther()) throw new IOException(path + " exists and is not a socket");
    if (answers()) throw new IOException("another process listens on " + path);
    Files.delete(path);
  }

  /**
   * Whether a process listens on the socket. Does not block: if the backlog is full, the connect does not succeed at
   * once, but a process listens.
   */
  private boolean answers() throws IOException {
    try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      probe.configureBlocking(false);
      probe.connect(UnixDomainSocketAddress.of(path));
      return true;
    } catch (ConnectException _) {
      return false;
    }
  }

  /** Restricts access to the user and the group of the broker. */
  void protect() throws IOException {
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw----"));
  }

  void delete() throws IOException {
    Files.deleteIfExists(path);
  }
}
