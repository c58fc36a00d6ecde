package dunlin.store.disk;

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
import org.jspecify.annotations.Nullable;

/**
 * The directory that one node keeps everything in, held against every other node while open. Nothing in a directory
 * that is refused is changed.
 *
 * <pre>
 *   dunlin.node     who this node is
 *   lock            held while a process uses the directory
 *   lock.owner      which process that is
 *   raft/UUID/      Ratis: the log of one range
 *   ranges/UUID/    RocksDB: the rows of one range; RowsDirectory has what may stand beside it
 *   replicas/UUID   that there is a replica of one range, or was and is lost; ReplicaNotes
 *   checkpoints/    copies of rows that other nodes are fetching
 *   quarantine/     damaged files of ranges that other nodes have, put aside
 * </pre>
 */
public final class DataDirectory implements AutoCloseable {
  /*
   * Owner: the one that opened it; opened and closed once.
   * Failure: a crash leaves `lock` and `lock.owner` behind; the kernel has dropped the lock itself, and the owner named
   * there no longer runs.
   *
   * Why lock.owner: POSIX locks belong to the process, and closing any descriptor of the file drops them. A second node
   * in this Java must therefore be refused before it opens `lock`, else its failure would take the lock of the first.
   * The note names process, its start and the lock file's identity, so that a copy of a directory is not refused.
   *
   * Long because what may be in the directory, and in which order it comes and goes, is to be read in one place.
   */
  private static final String RAFT = "raft";
  private static final String RANGES = "ranges";
  private static final String REPLICAS = "replicas";
  private static final String CHECKPOINTS = "checkpoints";
  private static final String QUARANTINE = "quarantine";
  private static final String DROPPED = ".dropped";
  private static final String SPLIT = ".split";
  private static final String LOCK = "lock";
  private static final String LOCK_OWNER = "lock.owner";
  /** What a crash during the very first opening, or a file system's root, may hold before there is a node. */
  private static final Set<String> NOT_FOREIGN = Set.of(LOCK, LOCK_OWNER, NodeIdentity.NEW_FILE, "lost+found");
  private static final boolean POSIX = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");

  private final Path directory;
  private final FileLock lock;
  private final NodeIdentity identity;
  private final ReplicaNotes notes;

  private DataDirectory(Path directory, FileLock lock, NodeIdentity identity) {
    this.directory = directory;
    this.lock = lock;
    this.identity = identity;
    notes = new ReplicaNotes(directory.resolve(REPLICAS));
  }

  /**
   * Locks the directory, creating it when it is not there, and raises the node's incarnation.
   *
   * @throws StoreException saying in one sentence why the directory cannot be used
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
        GroupStorage.deleteTree(opened.checkpoints());
        return opened;
      } catch (IOException | RuntimeException e) {
        release(directory, lock);
        throw e;
      }
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be used: " + reason(e), e);
    }
  }

  /** Finds out whether the directory could be opened, were it not in use, and changes nothing. */
  public static void check(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    try {
      if (!Files.exists(directory)) {
        Path above = directory.getParent();
        while (above != null && !Files.exists(above)) above = above.getParent();
        if (above == null || !Files.isDirectory(above) || !Files.isWritable(above))
          throw new StoreException("directory " + directory + " cannot be created: " + above + " is no directory that may be written to");
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

  /** Whether a node uses it now. What cannot be found out counts as no. */
  public static boolean inUse(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    Path file = directory.resolve(LOCK);
    if (!Files.isWritable(file)) return false;
    try {
      refuseOwnedByThisProcess(directory); // before the file is opened: closing it would give this process's lock away
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

  public Path path() {
    return directory;
  }

  /** What is left on the disk that the directory is on. */
  public DiskSpace.Source disk() {
    return new DiskSpace.Source() {
      @Override
      public long free() {
        return directory.toFile().getUsableSpace();
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

  /** Where the copies are made that other nodes fetch. */
  public Path checkpoints() {
    return directory.resolve(CHECKPOINTS);
  }

  /** Notes that a range is to be deleted: from now on it is not there, also after a crash. */
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
   * Deletes all that is here of a range, but what is in quarantine.
   *
   * @param forget whether the note that there was a replica goes too; not of one that may have voted and whose range does
   *     not know that it has gone
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

  /** The log of the parent makes them again. */
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
   * Puts the files of a damaged range aside, so that they can be looked at. While they are there the range has no
   * replica here, and does not get one by itself: a voter that has forgotten its vote could elect two leaders.
   */
  public Path quarantine(RangeId range) {
    try {
      Path aside = directory.resolve(QUARANTINE).resolve(range.uuid() + "-" + identity.incarnation());
      createDirectory(aside);
      Path rows = rows(range);
      if (Files.exists(rows)) Files.move(rows, aside.resolve("rows"), StandardCopyOption.ATOMIC_MOVE);
      // The log last: without it, and with a place in quarantine, nothing begins anew.
      if (Files.exists(raft(range))) Files.move(raft(range), aside.resolve("raft"), StandardCopyOption.ATOMIC_MOVE);
      new RowsDirectory(rows).deleteAll();
      for (Path changed : List.of(aside, directory.resolve(QUARANTINE), raft(), directory.resolve(RANGES))) force(changed);
      return aside;
    } catch (IOException e) {
      throw new StoreException("the damaged files of range '" + range + "' cannot be put aside: " + reason(e), e);
    }
  }

  /** Whether a range's files were put aside once. */
  public boolean quarantined(RangeId range) {
    Path all = directory.resolve(QUARANTINE);
    if (!Files.isDirectory(all)) return false;
    try (var found = Files.newDirectoryStream(all, range.uuid() + "-*")) {
      return found.iterator().hasNext();
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be listed: " + reason(e), e);
    }
  }

  /** Whether there is anything here of a range, be it in quarantine or lost. */
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

  /** The ranges that have a log or rows here, or have lost them; not those that were split off and have no log yet. */
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
  public void close() {
    try {
      release(directory, lock);
    } catch (IOException e) {
      throw new StoreException("data directory " + directory + " cannot be released: " + reason(e), e);
    }
  }

  /** The UUID that a file is named after; nothing for any other name. */
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
    // First the note: once the lock is free, no process may find it with our process in it.
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

  /** Creates a directory that only the broker's user can enter; one that is there already keeps its permissions. */
  public static void createDirectory(Path directory) {
    try {
      if (!Files.isDirectory(directory)) Files.createDirectories(directory, only("rwx------"));
    } catch (IOException e) {
      throw new StoreException("directory " + directory + " cannot be created: " + reason(e), e);
    }
  }

  /** Waits until what a directory lists is on disk. */
  public static void force(Path directory) throws IOException {
    if (!POSIX) return; // Windows neither needs it nor lets a directory be opened.
    try (var channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  private static FileAttribute<?>[] only(String permissions) {
    if (!POSIX) return new FileAttribute<?>[0];
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))};
  }

  /** The file system's own words, which for most exceptions are the class and not the message. */
  private static String reason(IOException e) {
    return switch (e) {
      case AccessDeniedException _ -> "access denied";
      case FileAlreadyExistsException taken -> taken.getFile() + " is not a directory";
      case FileSystemException other when other.getReason() != null -> other.getReason();
      default -> String.valueOf(e.getMessage());
    };
  }
}
