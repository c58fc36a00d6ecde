package dunlin.store.disk;

import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * The directory of one range's rows, and the directories beside it that are used to install a snapshot or to split.
 *
 * <pre>
 *   UUID            the rows
 *   UUID.incoming   a snapshot that is being downloaded; kept after a failure, so that the next attempt can resume
 *   UUID.ready      a snapshot that is complete and on disk; renamed before Ratis is notified of it
 *   UUID.old        the rows that the snapshot has replaced
 *   UUID.installed  the last entry of the snapshot that was installed last
 *   UUID.damaged    an empty file: RocksDB has found the rows corrupt
 *   UUID.splitting  rows that are being split off from another range
 *   UUID.split      a file with the descriptor of rows that were split off, kept until their group has a log
 * </pre>
 */
public record RowsDirectory(Path rows) {
  static final String SPLITTING = ".splitting";

  public Path incoming() {
    return beside(".incoming");
  }

  public Path ready() {
    return beside(".ready");
  }

  private Path old() {
    return beside(".old");
  }

  private Path installed() {
    return beside(".installed");
  }

  private Path damaged() {
    return beside(".damaged");
  }

  /** Marks the downloaded snapshot as ready; durable when this returns. */
  public void complete() throws IOException {
    GroupStorage.deleteTree(ready());
    Files.move(incoming(), ready(), StandardCopyOption.ATOMIC_MOVE);
    forceParent();
  }

  /** Replaces the rows, which must not be open, by the ready snapshot. */
  void swapIn() throws IOException {
    GroupStorage.deleteTree(old());
    if (Files.exists(rows)) Files.move(rows, old(), StandardCopyOption.ATOMIC_MOVE);
    Files.move(ready(), rows, StandardCopyOption.ATOMIC_MOVE);
    forceParent();
  }

  /** Notes the last entry of the ready snapshot, before it takes the place of the rows; durable when this returns. */
  void noteInstalled(long end) {
    new DurableFile(installed()).write(ByteBuffer.allocate(Long.BYTES).putLong(end).array());
  }

  /** The last entry of the snapshot that was installed last, or is about to be; -1 for none. */
  public long installedEnd() {
    try {
      return new DurableFile(installed()).read().filter(end -> end.length == Long.BYTES).map(end -> ByteBuffer.wrap(end).getLong()).orElse(-1L);
    } catch (StoreException damaged) {
      return -1;
    }
  }

  void deleteOld() throws IOException {
    GroupStorage.deleteTree(old());
  }

  public void deleteReady() throws IOException {
    GroupStorage.deleteTree(ready());
  }

  /** Completes a swap that a crash has interrupted. */
  public void recover() throws IOException {
    if (!Files.exists(rows)) {
      if (Files.exists(ready())) Files.move(ready(), rows, StandardCopyOption.ATOMIC_MOVE);
      else if (Files.exists(old())) Files.move(old(), rows, StandardCopyOption.ATOMIC_MOVE);
      forceParent();
    }
    deleteOld();
  }

  public Path splitting() {
    return beside(SPLITTING);
  }

  public Path splitNote() {
    return beside(".split");
  }

  /** Marks the rows that were split off as complete; durable when this returns. */
  public void completeSplit(RangeDescriptor range) throws IOException {
    Files.deleteIfExists(splitNote());
    DataDirectory.createFile(splitNote());
    try (var note = FileChannel.open(splitNote(), StandardOpenOption.WRITE)) {
      var bytes = ByteBuffer.wrap(range.toBytes());
      while (bytes.hasRemaining()) note.write(bytes);
      note.force(true);
    }
    DataDirectory.force(splitting());
    Files.move(splitting(), rows, StandardCopyOption.ATOMIC_MOVE);
    forceParent();
  }

  public boolean foundDamaged() {
    return Files.exists(damaged());
  }

  /** Marks the rows as damaged, for the next start. */
  void markDamaged() {
    try {
      if (!Files.exists(damaged())) DataDirectory.createFile(damaged());
      forceParent();
    } catch (IOException e) {
      throw new StoreException("the damage of " + rows + " cannot be noted: " + e.getMessage(), e);
    }
  }

  void deleteAll() throws IOException {
    for (Path each : new Path[] {rows, incoming(), ready(), old(), installed(), damaged(), splitting(), splitNote()}) GroupStorage.deleteTree(each);
  }

  private Path beside(String suffix) {
    return rows.resolveSibling(rows.getFileName() + suffix);
  }

  private void forceParent() throws IOException {
    DataDirectory.force(rows.resolveSibling("."));
  }
}
