package dunlin.node;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.TierClock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the time of the node's clock in the data directory, so that it continues from there after a restart. */
final class ClockFile implements AutoCloseable {
  /*
   * Owner: the housekeeping thread calls look(); the thread that starts and closes the node calls the rest.
   * Bounds: one line, written every LOOKS_A_NOTE looks, and at once when the wall clock was moved.
   * Failure: a file that cannot be read or written is logged, and the node uses its wall clock. After a crash the clock
   * continues from the last note: what would have ended between the note and the crash ends that much later, never
   * earlier.
   */
  static final int LOOKS_A_NOTE = 10;

  private static final Logger log = LoggerFactory.getLogger(ClockFile.class);
  static final String NAME = "clock";
  private static final String FORMAT = "1";
  private static final Set<StandardOpenOption> WRITTEN_ANEW =
      Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);

  private final Path file;
  private final Path next;
  private final TierClock clock;

  @GuardedBy("this")
  private int looks;

  @GuardedBy("this")
  private boolean failing;

  private ClockFile(Path directory, TierClock clock) {
    this.file = directory.resolve(NAME);
    this.next = directory.resolve(NAME + ".next");
    this.clock = clock;
  }

  /** Continues the clock from the last run of the node, if there was one. */
  static ClockFile open(Path directory, TierClock clock) {
    var opened = new ClockFile(directory, clock);
    opened.read();
    opened.note();
    return opened;
  }

  private void read() {
    if (!Files.exists(file)) return;
    try {
      String[] words = Files.readString(file, StandardCharsets.US_ASCII).strip().split(" ", -1);
      if (words.length != 3 || !words[0].equals(FORMAT)) throw new IOException("its format is unknown");
      clock.goOn(Long.parseLong(words[1]), Long.parseLong(words[2]));
    } catch (IOException | NumberFormatException e) {
      log.warn("The time of the node's last run cannot be read from {}, so the wall clock is used: {}", file, e.getMessage());
    }
  }

  /** Compares the clocks, and writes a note when one is due. Called about once a second. */
  synchronized void look() {
    boolean moved = clock.check();
    if (!moved && ++looks < LOOKS_A_NOTE) return;
    looks = 0;
    note();
  }

  private synchronized void note() {
    byte[] line = (FORMAT + ' ' + clock.millis() + ' ' + clock.wallAhead() + '\n').getBytes(StandardCharsets.US_ASCII);
    try {
      try (var out = FileChannel.open(next, WRITTEN_ANEW, ownersAlone())) {
        out.write(ByteBuffer.wrap(line));
        out.force(true);
      }
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      failing = false;
    } catch (IOException e) {
      if (!failing) log.warn("The time cannot be written to {}, trying again: {}", file, e.toString());
      failing = true;
    }
  }

  /** The same permissions as the rest of the data directory. */
  private FileAttribute<?>[] ownersAlone() {
    if (!next.getFileSystem().supportedFileAttributeViews().contains("posix")) return new FileAttribute<?>[0];
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))};
  }

  @Override
  public void close() {
    note();
  }
}
