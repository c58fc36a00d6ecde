package dunlin.store.disk;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * A data directory that is being made of rows from elsewhere, for a new node. It is one when {@link #complete} returns; before that, no node opens it. Closing it
 * earlier leaves nothing of it.
 */
public final class NewDataDirectory implements AutoCloseable {
  /*
   * Owner: one thread.
   * Failure: the node's identity is written last, so a start refuses what a crash leaves behind as a directory that is not Dunlin's, and so does another attempt to
   * make one there.
   */
  private static final Set<String> NOT_IN_THE_WAY = Set.of("lost+found");

  private final Path directory;
  private final NodeIdentity identity = NodeIdentity.fresh();
  private final boolean existed;
  private final Path raft;
  private final Path ranges;
  private final ReplicaNotes notes;
  private final Set<String> files = new HashSet<>();
  private boolean completed;

  private NewDataDirectory(Path directory, boolean existed) {
    this.directory = directory;
    this.existed = existed;
    raft = directory.resolve(DataDirectory.RAFT);
    ranges = directory.resolve(DataDirectory.RANGES);
    notes = new ReplicaNotes(directory.resolve(DataDirectory.REPLICAS));
  }

  /**
   * Begins one in a directory that is empty, or that does not exist.
   *
   * @throws StoreException when there is something in it, or it cannot be written
   */
  public static NewDataDirectory begin(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    boolean existed = Files.exists(directory);
    try {
      if (existed) requireEmpty(directory);
      DataDirectory.createDirectory(directory);
      if (!Files.isWritable(directory)) throw new StoreException("directory " + directory + " is not writable");
      var made = new NewDataDirectory(directory, existed);
      DataDirectory.createDirectory(made.raft);
      DataDirectory.createDirectory(made.ranges);
      return made;
    } catch (IOException e) {
      throw new StoreException("directory " + directory + " cannot be used: " + e.getMessage(), e);
    }
  }

  /** @throws StoreException naming what is in the directory */
  public static void requireEmpty(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) throw new StoreException(directory + " is not a directory");
    try (var found = Files.newDirectoryStream(directory)) {
      for (Path each : found) {
        String name = String.valueOf(each.getFileName());
        if (!NOT_IN_THE_WAY.contains(name)) throw new StoreException("directory " + directory + " is not empty: it holds '" + name + "'");
      }
    }
  }

  /** The bytes that this process may still write there. */
  public long free() {
    return directory.toFile().getUsableSpace();
  }

  /** Where the rows of a range are to be put, which {@link DetachedRows#begin} has made. Does not exist yet. */
  public Path rows(RangeId range) {
    return ranges.resolve(range.uuid().toString());
  }

  /** A place for rows that are only needed until the directory is complete. Does not exist yet. */
  public Path scratch() {
    return ranges.resolve("scratch");
  }

  /** Gives a range whose rows are there a log without entries, with the new node as its only peer. */
  public void add(RangeId range) throws IOException {
    GroupStorage.create(raft.resolve(range.uuid().toString()), List.of(RatisPeers.alone(identity.nodeId())));
    notes.write(range, false);
  }

  /** Writes a file of the node beside its store. */
  public void write(String name, byte[] content) throws IOException {
    Path file = directory.resolve(name);
    DataDirectory.createFile(file);
    files.add(name);
    try (var out = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (var in = ByteBuffer.wrap(content); in.hasRemaining(); ) out.write(in);
      out.force(true);
    }
  }

  /** Makes it a data directory; on disk when this returns. Answers the id of its node. */
  public UUID complete() throws IOException {
    GroupStorage.deleteTree(scratch());
    DataDirectory.force(ranges);
    DataDirectory.force(raft);
    identity.write(directory);
    completed = true;
    return identity.nodeId();
  }

  @Override
  public void close() {
    if (completed) return;
    try {
      for (String part : List.of(DataDirectory.RAFT, DataDirectory.RANGES, DataDirectory.REPLICAS)) GroupStorage.deleteTree(directory.resolve(part));
      for (String name : files) Files.deleteIfExists(directory.resolve(name));
      if (!existed) Files.deleteIfExists(directory);
    } catch (IOException e) {
      throw new StoreException("what was begun in directory " + directory + " cannot be deleted: " + e.getMessage(), e);
    }
  }
}
