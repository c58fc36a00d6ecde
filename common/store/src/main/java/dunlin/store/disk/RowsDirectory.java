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
 * The directory of one range's rows, and those beside it through which the copy of another replica takes its place.
 *
 * <pre>
 *   UUID            the rows
 *   UUID.incoming   a copy that is being fetched; kept over failures, since the next try needs less then
 *   UUID.ready      a copy that is complete and on disk, named so before Ratis hears of it
 *   UUID.old        the rows that the copy has replaced
 *   UUID.damaged    an empty file: RocksDB has found the rows corrupt
 *   UUID.splitting  rows that are being split off another range's
 *   UUID.split      a file that says of what range the rows are, from when they are split off until their group has a log
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

  private Path damaged() {
    return beside(".damaged");
  }

  /** Names what was fetched ready; when this returns, no crash takes that back. */
  public void complete() throws IOException {
    GroupStorage.deleteTree(ready());
    Files.move(incoming(), ready(), StandardCopyOption.ATOMIC_MOVE);
    forceParent();
  }

  /** Puts what is ready in the place of the rows, which must not be open. */
  void swapIn() throws IOException {
    GroupStorage.deleteTree(old());
    if (Files.exists(rows)) Files.move(rows, old(), StandardCopyOption.ATOMIC_MOVE);
    Files.move(ready(), rows, StandardCopyOption.ATOMIC_MOVE);
    forceParent();
  }

  void deleteOld() throws IOException {
    GroupStorage.deleteTree(old());
  }

  public void deleteReady() throws IOException {
    GroupStorage.deleteTree(ready());
  }

  /** Ends a swap in whose middle the process was killed. */
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

  /** Names what was split off the rows; when this returns, no crash takes that back. */
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

  /** Notes for the next start that the rows are not to be used. */
  void markDamaged() {
    try {
      if (!Files.exists(damaged())) DataDirectory.createFile(damaged());
      forceParent();
    } catch (IOException e) {
      throw new StoreException("the damage of " + rows + " cannot be noted: " + e.getMessage(), e);
    }
  }

  void deleteAll() throws IOException {
    for (Path each : new Path[] {rows, incoming(), ready(), old(), damaged(), splitting(), splitNote()}) GroupStorage.deleteTree(each);
  }

  private Path beside(String suffix) {
    return rows.resolveSibling(rows.getFileName() + suffix);
  }

  private void forceParent() throws IOException {
    DataDirectory.force(rows.resolveSibling("."));
  }
}
