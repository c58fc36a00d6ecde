package dunlin.store.disk;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The directory that holds everything of one node, locked against other nodes while open. A directory that is refused
 * is not changed.
 *
 * <pre>
 *   dunlin.node     the identity of this node
 *   lock            held while a process uses the directory
 *   lock.owner      which process that is
 *   raft/UUID/      Ratis: the log of one range
 *   ranges/UUID/    RocksDB: the rows of one range; for what may be beside it, see RowsDirectory
 *   replicas/UUID   notes that a range has a replica here, or had one that is lost; see ReplicaNotes
 *   snapshots/    snapshots that other nodes are downloading
 *   quarantine/     damaged files of ranges that have replicas on other nodes
 * </pre>
 */
public final class DataDirectory implements AutoCloseable {
  /*
   * Owner: the thread that opened it; opened and closed once.
   * Failure: a crash leaves `lock` and `lock.owner` behind. The kernel has released the lock itself, and the owner
   * named there no longer runs.
   *
   * Why lock.owner: POSIX locks belong to the process, and closing any descriptor of the file drops them. A second node
   * in this process must therefore be refused before it opens `lock`, or its failure would release the lock of the
   * first. The file names the process, its start and the lock file's identity, so that a copy of a directory is not
   * refused.
   *
   * The class is long because the contents of the directory, and the order in which files are created and deleted,
   * belong in one place.
   */
  static final String RAFT = "raft";
  static final String RANGES = "ranges";
  static final String REPLICAS = "replicas";
  private static final String SNAPSHOTS = "snapshots";
  private static final String QUARANTINE = "quarantine";
  private static final String DROPPED = ".dropped";
  private static final String SPLIT = ".split";
  private static final String LOCK = "lock";
  private static final String LOCK_OWNER = "lock.owner";
  /** Files that may exist before there is a node: left by a crash during the very first opening, or in a file system's root. */
  private static final Set<String> NOT_FOREIGN = Set.of(LOCK, LOCK_OWNER, NodeIdentity.NEW_FILE, "lost+found");
  private static final boolean POSIX = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");

  private final Path directory;
  private final FileLock lock;
  private final NodeIdentity identity;
  private final ReplicaNotes notes;

  /** As it is on disk. */
  @GuardedBy("this")
  private NodeIdentity latest;

  @GuardedBy("this")
  private boolean closed;

  private DataDirectory(Path directory, FileLock lock, NodeIdentity identity) {
    this.directory = directory;
    this.lock = lock;
    this.identity = identity;
    this.latest = identity;
    notes = new ReplicaNotes(directory.resolve(REPLICAS));
  }

  /**
   * Locks the directory, creating it if necessary, and increments the node's incarnation.
   *
   * @throws StoreException with one sentence that says why the directory cannot be used
   */
  public static DataDirectory open(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    createDirectory(directory);
    try {
      refuseForeign(directory);
      if (!Files.isWritable(directory)) throw new StoreException("data directory " + directory + " is not writable");
      refuseOwnedByThisProcess(directory);
      var lock = lock(directory);
      try {
        write(directory.resolve(LOCK_OWNER), ownerNote(directory));
        boolean known = Files.exists(directory.resolve(NodeIdentity.FILE));
        var identity = (known ? NodeIdentity.read(directory) : NodeIdentity.fresh()).next();
        identity.write(directory);
        createDirectory(directory.resolve(RAFT));
        createDirectory(directory.resolve(RANGES));
        force(directory);
        var opened = new DataDirectory(directory, lock, identity);
        opened.finishDrops();
        opened.dropUnfinishedSplits();
        GroupStorage.deleteTree(opened.snapshots());
        return opened;
      } catch (IOException | RuntimeException e) {
        release(directory, lock);
        throw e;
      }
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be used: " + reason(e), e);
    }
  }

  /** Checks whether the directory could be opened if it were not in use. Changes nothing. */
  public static void check(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    try {
      if (!Files.exists(directory)) {
        Path above = directory.getParent();
        while (above != null && !Files.exists(above)) above = above.getParent();
        if (above == null || !Files.isDirectory(above) || !Files.isWritable(above))
          throw new StoreException("directory " + directory + " cannot be created: " + above + " is not a writable directory");
        return;
      }
      if (!Files.isDirectory(directory)) throw new StoreException("data directory " + directory + " is not a directory");
      refuseForeign(directory);
      if (!Files.isWritable(directory)) throw new StoreException("data directory " + directory + " is not writable");
      if (Files.exists(directory.resolve(NodeIdentity.FILE))) NodeIdentity.read(directory);
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be used: " + reason(e), e);
    }
  }

  /** Whether a node uses it now; false when that cannot be found out. */
  public static boolean inUse(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    Path file = directory.resolve(LOCK);
    if (!Files.isWritable(file)) return false;
    try {
      refuseOwnedByThisProcess(directory); // before the file is opened: closing it would release this process's lock
    } catch (StoreException ours) {
      return true;
    } catch (IOException e) {
      return false;
    }
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      return channel.tryLock() == null;
    } catch (OverlappingFileLockException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  public NodeIdentity identity() {
    return identity;
  }

  /**
   * Raises the node's incarnation while it runs, for what is to be told apart from what this process has done before. The next start has a larger one.
   *
   * @return the new incarnation, which is on disk
   * @throws StoreException when it cannot be written, or the directory is closed
   */
  public synchronized long raiseIncarnation() {
    if (closed) throw new StoreException("data directory " + directory + " is closed"); // another process may have a larger one by now
    var next = latest.next();
    try {
      next.write(directory);
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + ": its " + NodeIdentity.FILE + " cannot be written: " + reason(e), e);
    }
    latest = next;
    return next.incarnation();
  }

  public Path path() {
    return directory;
  }

  /**
   * The free space of the disk that holds the directory.
   *
   * @param taken what counts as taken, although it is free
   */
  public DiskSpace.Source disk(LongSupplier taken) {
    return new DiskSpace.Source() {
      @Override
      public long free() {
        return Math.max(0, directory.toFile().getUsableSpace() - taken.getAsLong());
      }

      @Override
      public long total() {
        return directory.toFile().getTotalSpace();
      }
    };
  }

  /** Where Ratis keeps the logs, one directory per range. */
  public Path raft() {
    return directory.resolve(RAFT);
  }

  public Path raft(RangeId range) {
    return raft().resolve(range.uuid().toString());
  }

  public Path rows(RangeId range) {
    return directory.resolve(RANGES).resolve(range.uuid().toString());
  }

  /** Which ranges have ever had a replica here. */
  public ReplicaNotes notes() {
    return notes;
  }

  /** Where snapshots for other nodes are made. */
  public Path snapshots() {
    return directory.resolve(SNAPSHOTS);
  }

  /** Marks a range as to be deleted. From now on it counts as absent, also after a crash. */
  public void beginDrop(RangeId range) {
    Path note = dropped(range.uuid());
    try {
      if (!Files.exists(note)) createFile(note);
      force(directory.resolve(RANGES));
    } catch (IOException e) {
      throw new StoreException("range '" + range + "' cannot be dropped: " + reason(e), e);
    }
  }

  /**
   * Deletes all files of a range, except those in quarantine.
   *
   * @param forget whether to delete the note of the replica, too; false for a replica that may have voted and that its
   *     range has not removed
   */
  public void delete(RangeId range, boolean forget) {
    try {
      delete(range.uuid(), forget);
    } catch (IOException e) {
      throw new StoreException("range '" + range + "' cannot be deleted: " + reason(e), e);
    }
  }

  private void delete(UUID range, boolean forget) throws IOException {
    if (forget) notes.delete(range); // first: a log without a note is a replica, a note without a log is a lost one
    GroupStorage.deleteTree(raft().resolve(range.toString()));
    new RowsDirectory(directory.resolve(RANGES).resolve(range.toString())).deleteAll();
    Files.deleteIfExists(dropped(range));
    force(directory.resolve(RANGES));
  }

  private Path dropped(UUID range) {
    return directory.resolve(RANGES).resolve(range + DROPPED);
  }

  /** Deletes unfinished splits; they are made again from the parent's log. */
  private void dropUnfinishedSplits() throws IOException {
    try (var found = Files.newDirectoryStream(directory.resolve(RANGES), "*" + RowsDirectory.SPLITTING)) {
      for (Path unfinished : found) GroupStorage.deleteTree(unfinished);
    }
  }

  private void finishDrops() throws IOException {
    var notes = new ArrayList<Path>();
    try (var found = Files.newDirectoryStream(directory.resolve(RANGES), "*" + DROPPED)) {
      found.forEach(notes::add);
    }
    for (Path note : notes) {
      String name = String.valueOf(note.getFileName());
      UUID range = uuid(name.substring(0, name.length() - DROPPED.length()));
      if (range != null) delete(range, true);
    }
  }

  /**
   * Moves the files of a damaged range into quarantine, for inspection. While they are there, the range has no replica
   * here and does not get one by itself: a voter that has forgotten its vote could elect two leaders.
   */
  public Path quarantine(RangeId range) {
    try {
      Path aside = directory.resolve(QUARANTINE).resolve(range.uuid() + "-" + identity.incarnation());
      createDirectory(aside);
      Path rows = rows(range);
      if (Files.exists(rows)) Files.move(rows, aside.resolve("rows"), StandardCopyOption.ATOMIC_MOVE);
      // The log last: a range without a log but with a directory in quarantine is not created again.
      if (Files.exists(raft(range))) Files.move(raft(range), aside.resolve("raft"), StandardCopyOption.ATOMIC_MOVE);
      new RowsDirectory(rows).deleteAll();
      for (Path changed : List.of(aside, directory.resolve(QUARANTINE), raft(), directory.resolve(RANGES))) force(changed);
      return aside;
    } catch (IOException e) {
      throw new StoreException("the damaged files of range '" + range + "' cannot be put aside: " + reason(e), e);
    }
  }

  /** Whether files of a range are in quarantine. */
  public boolean quarantined(RangeId range) {
    Path all = directory.resolve(QUARANTINE);
    if (!Files.isDirectory(all)) return false;
    try (var found = Files.newDirectoryStream(all, range.uuid() + "-*")) {
      return found.iterator().hasNext();
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be listed: " + reason(e), e);
    }
  }

  /** Whether the directory knows a range, even if only in quarantine or as lost. */
  public boolean holds(RangeId range) {
    return Files.exists(raft(range)) || Files.exists(rows(range)) || quarantined(range) || notes.has(range);
  }

  /** The ranges that were split off here and have no log yet. */
  public List<RangeDescriptor> unstarted() {
    var found = new ArrayList<RangeDescriptor>();
    Path all = directory.resolve(RANGES);
    try (var notes = Files.newDirectoryStream(all, "*" + SPLIT)) {
      for (Path note : notes) {
        String name = String.valueOf(note.getFileName());
        UUID range = uuid(name.substring(0, name.length() - SPLIT.length()));
        if (range != null && unstarted(range)) found.add(RangeDescriptor.parse(Files.readAllBytes(note)));
      }
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be listed: " + reason(e), e);
    }
    return found;
  }

  private boolean unstarted(UUID range) {
    Path rows = directory.resolve(RANGES).resolve(range.toString());
    return Files.exists(rows.resolveSibling(range + SPLIT))
        && Files.isDirectory(rows)
        && !Files.exists(raft().resolve(range.toString()));
  }

  /** The ranges that have a log or rows here or have lost them, without those that were split off and have no log yet. */
  public List<UUID> ranges() {
    var found = new LinkedHashSet<UUID>(notes.all());
    for (String part : List.of(RAFT, RANGES)) {
      try (var entries = Files.newDirectoryStream(directory.resolve(part), Files::isDirectory)) {
        for (Path entry : entries) {
          UUID uuid = uuid(String.valueOf(entry.getFileName()));
          if (uuid != null && !unstarted(uuid)) found.add(uuid);
        }
      } catch (IOException e) {
        throw new StoreException("data directory " + directory + " cannot be listed: " + reason(e), e);
      }
    }
    return List.copyOf(found);
  }

  @Override
  public synchronized void close() {
    closed = true;
    try {
      release(directory, lock);
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be released: " + reason(e), e);
    }
  }

  /** The UUID in a file's name; null for any other name. */
  public static @Nullable UUID uuid(String name) {
    try {
      var uuid = UUID.fromString(name);
      return uuid.toString().equals(name) ? uuid : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private static void refuseForeign(Path directory) throws IOException {
    if (Files.exists(directory.resolve(NodeIdentity.FILE))) return;
    try (var entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        String name = String.valueOf(entry.getFileName());
        if (!NOT_FOREIGN.contains(name))
          throw new StoreException(
              "data directory " + directory + " is not Dunlin's: it holds '" + name + "' and no " + NodeIdentity.FILE);
      }
    }
  }

  private static void refuseOwnedByThisProcess(Path directory) throws IOException {
    Path note = directory.resolve(LOCK_OWNER);
    if (Files.exists(directory.resolve(LOCK))
        && Files.exists(note)
        && Files.readString(note).equals(ownerNote(directory))) throw inUse(directory, "in this process");
  }

  private static FileLock lock(Path directory) throws IOException {
    Path file = directory.resolve(LOCK);
    if (!Files.exists(file)) createFile(file);
    var channel = FileChannel.open(file, StandardOpenOption.WRITE);
    try {
      FileLock lock = channel.tryLock();
      if (lock != null) return lock;
    } catch (OverlappingFileLockException e) {
      channel.close();
      throw inUse(directory, "in this process");
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    channel.close();
    Path note = directory.resolve(LOCK_OWNER);
    throw inUse(directory, Files.exists(note) ? Files.readString(note).lines().findFirst().orElse("") : "process unknown");
  }

  private static void release(Path directory, FileLock lock) throws IOException {
    // First delete lock.owner: once the lock is free, no process may find this one named in it.
    Files.deleteIfExists(directory.resolve(LOCK_OWNER));
    lock.acquiredBy().close();
  }

  private static StoreException inUse(Path directory, String owner) {
    return new StoreException("data directory " + directory + " is in use by another Dunlin node (" + owner + ")");
  }

  private static String ownerNote(Path directory) throws IOException {
    var process = ProcessHandle.current();
    Object file = Files.readAttributes(directory.resolve(LOCK), BasicFileAttributes.class).fileKey();
    Instant started = process.info().startInstant().orElse(Instant.EPOCH);
    return "process " + process.pid() + "\n" + started + "\n" + file + "\n";
  }

  private static void write(Path file, String text) throws IOException {
    Files.deleteIfExists(file);
    createFile(file);
    Files.writeString(file, text);
  }

  /** Creates an empty file that only the broker's user can read. */
  public static void createFile(Path file) throws IOException {
    Files.createFile(file, only("rw-------"));
  }

  /** Creates a directory that only the broker's user can enter; an existing one keeps its permissions. */
  public static void createDirectory(Path directory) {
    try {
      if (!Files.isDirectory(directory)) Files.createDirectories(directory, only("rwx------"));
    } catch (IOException e) {
      throw new StoreException("directory " + directory + " cannot be created: " + reason(e), e);
    }
  }

  /** Creates a directory that only the broker's user can enter; fails if it exists. */
  public static void createNewDirectory(Path directory) throws IOException {
    Files.createDirectory(directory, only("rwx------"));
  }

  /** Forces a directory's entries to disk. */
  public static void force(Path directory) throws IOException {
    if (!POSIX) return; // Windows neither needs it nor lets a directory be opened.
    try (var channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** The attribute for a new file or directory to have these permissions, where the file system has such. */
  static FileAttribute<?>[] only(String permissions) {
    if (!POSIX) return new FileAttribute<?>[0];
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))};
  }

  /** The file system's reason. For most exceptions that is the class and not the message. */
  private static String reason(IOException e) {
    return switch (e) {
      case AccessDeniedException _ -> "access denied";
      case FileAlreadyExistsException taken -> taken.getFile() + " is not a directory";
      case FileSystemException other when other.getReason() != null -> other.getReason();
      default -> String.valueOf(e.getMessage());
    };
  }
}
