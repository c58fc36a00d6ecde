package dunlin.store.disk;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Notes which ranges this data directory has ever had a replica of, apart from the replicas' own files. A note is on
 * disk before the replica can vote, and is deleted only when the replica is dropped. So a replica without log and rows
 * is recognized as lost and not as new, and no voter that has lost its vote can vote twice in a term.
 *
 * <pre>
 *   replicas/UUID   format (1 byte), whether other nodes had replicas too when it was last written (1 byte)
 * </pre>
 */
public final class ReplicaNotes {
  /*
   * Owner: one thread at a time for a range: the one that starts or creates the replica, then the maintenance thread, then
   * the one that drops it.
   * Failure: notes are replaced atomically. An unreadable one still proves that the replica existed.
   */
  private static final byte FORMAT = 1;
  private static final String UNFINISHED = ".new";

  private final Path directory;

  ReplicaNotes(Path directory) {
    this.directory = directory;
  }

  public boolean has(RangeId range) {
    return Files.exists(note(range.uuid()));
  }

  /** Whether the range had replicas on other nodes too; false when nothing is noted. */
  public boolean hadOthers(RangeId range) {
    try {
      byte[] note = Files.readAllBytes(note(range.uuid()));
      // An unreadable note counts as shared, so that the replica does not vote before its range has added it again.
      return note.length != 2 || note[0] != FORMAT || note[1] != 0;
    } catch (IOException e) {
      return has(range);
    }
  }

  /** When this returns, the note survives a crash. */
  public void write(RangeId range, boolean others) throws IOException {
    if (has(range) && hadOthers(range) == others) return;
    DataDirectory.createDirectory(directory);
    Path note = note(range.uuid());
    Path unfinished = note.resolveSibling(note.getFileName() + UNFINISHED);
    Files.deleteIfExists(unfinished);
    DataDirectory.createFile(unfinished);
    Files.write(unfinished, new byte[] {FORMAT, (byte) (others ? 1 : 0)});
    try (var channel = FileChannel.open(unfinished, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
    Files.move(unfinished, note, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    DataDirectory.force(directory);
    DataDirectory.force(directory.resolveSibling("."));
  }

  void delete(UUID range) throws IOException {
    if (Files.deleteIfExists(note(range))) DataDirectory.force(directory);
  }

  /** All ranges that have a note. */
  List<UUID> all() {
    var all = new ArrayList<UUID>();
    if (!Files.isDirectory(directory)) return all;
    try (var notes = Files.newDirectoryStream(directory)) {
      for (Path note : notes) {
        UUID range = DataDirectory.uuid(String.valueOf(note.getFileName()));
        if (range != null) all.add(range);
      }
    } catch (IOException e) {
      throw new StoreException("the notes in " + directory + " cannot be listed: " + e.getMessage(), e);
    }
    return all;
  }

  private Path note(UUID range) {
    return directory.resolve(range.toString());
  }
}
