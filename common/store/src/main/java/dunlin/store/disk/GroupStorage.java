package dunlin.store.disk;

import dunlin.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.RaftServerConfigKeys.Log.CorruptionPolicy;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.raftlog.segmented.LogSegment;
import org.apache.ratis.server.raftlog.segmented.LogSegmentPath;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.util.SizeInBytes;

/**
 * Creates the directory of a new Raft group, with its first peers, before the server starts. So new groups start in
 * parallel like existing ones, while Ratis would add them one by one to a running server. And a crash leaves a complete
 * group or none, while Ratis could leave one without peers, which waits for ever.
 */
public final class GroupStorage {
  /** Not a UUID, so Ratis leaves it alone. */
  private static final String UNFINISHED = ".new";

  /** log_FIRST-LAST, and log_inprogress_FIRST for the open segment. */
  private static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-(\\d+))?");

  /** More than an entry can have. */
  private static final SizeInBytes ENTRY_BYTES_MAX = SizeInBytes.valueOf("1GB");

  private static final String CONFIGURATION_FILE = "raft-meta.conf";
  /**
   * An index before the first entry, in which the first leader writes the same peers into the log. That entry may be
   * replaced by one of another leader. Ratis then first notes the new peers and afterwards forgets the peers of every
   * truncated index: if these were at index 0 too, the replica would have no peers at all, and would close itself at
   * its next election. It is one below Ratis' INVALID_LOG_INDEX, which Ratis does not accept here.
   */
  private static final long BEFORE_FIRST_INDEX = RaftLog.INVALID_LOG_INDEX - 1;

  private GroupStorage() {}

  public static void create(Path directory, List<RaftPeer> peers) throws IOException {
    Path unfinished = directory.resolveSibling(directory.getFileName() + UNFINISHED);
    deleteTree(unfinished);
    DataDirectory.createDirectory(unfinished);
    var storage =
        RaftStorage.newBuilder()
            .setDirectory(unfinished.toFile())
            .setOption(RaftStorage.StartupOption.FORMAT)
            .setLogCorruptionPolicy(CorruptionPolicy.EXCEPTION)
            .setStorageFreeSpaceMin(SizeInBytes.valueOf(0))
            .build();
    try (storage) {
      storage.initialize();
      writeConfiguration(storage.getStorageDir().getCurrentDir().toPath(), peers);
    }
    Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
    DataDirectory.force(directory.resolveSibling("."));
  }

  /** The nodes that a group's directory names as its peers; empty when it names none. */
  public static List<UUID> peersIn(Path directory) {
    Path file = directory.resolve("current").resolve(CONFIGURATION_FILE);
    try {
      return RatisPeers.nodes(LogEntryProto.parseFrom(Files.readAllBytes(file)).getConfigurationEntry());
    } catch (IOException | IllegalArgumentException e) {
      return List.of(); // missing or damaged, like what else may be in there
    }
  }

  /** The first entry of a log by the names of its files, before Ratis has read them; 0 for an empty one. */
  public static long logBegin(Path current) {
    long begin = Long.MAX_VALUE;
    try (var segments = Files.newDirectoryStream(current, "log_*")) {
      for (Path segment : segments) {
        var name = SEGMENT.matcher(String.valueOf(segment.getFileName()));
        if (name.matches()) begin = Math.min(begin, Long.parseLong(name.group(1)));
      }
    } catch (IOException e) {
      throw new StoreException("the log in " + current + " cannot be listed: " + e.getMessage(), e);
    }
    return begin == Long.MAX_VALUE ? 0 : begin;
  }

  /**
   * Whether a closed segment of a log has fewer entries than its name says, because its file was cut short, or one behind it is missing. Ratis does not name the group of such a
   * log, and does not notice it in the last segment.
   *
   * <p>It is also true after a crash in the moment in which the end of the log is removed because it conflicts with the leader's: Ratis first truncates the segment, and then renames it.
   * Such a replica is fetched anew, although nothing is lost.
   *
   * @param onlyLast whether only the last segment is read, if it is closed
   */
  public static boolean lacksEntries(Path directory, boolean onlyLast) {
    try {
      var segments = segments(directory);
      if (segments.isEmpty()) return false;
      if (onlyLast) return segments.getLast().lacksEntries();
      for (int i = 0; i < segments.size(); i++)
        if (segments.get(i).lacksEntries() || (i > 0 && !segments.get(i).follows(segments.get(i - 1)))) return true;
      return false;
    } catch (IOException | RuntimeException e) {
      return false; // that is said where the log is loaded
    }
  }

  /** The index of the last whole entry of a log, before Ratis has read it; empty when the log has no file, or when its last file is damaged, which is said where it is loaded. */
  public static OptionalLong lastEntry(Path directory) {
    try {
      var segments = segments(directory);
      return segments.isEmpty() ? OptionalLong.empty() : OptionalLong.of(segments.getLast().end());
    } catch (IOException | RuntimeException e) {
      return OptionalLong.empty();
    }
  }

  /** Deletes all entries of a log that Ratis has not read yet. The term and the vote stay. */
  public static void deleteEntries(Path directory) throws IOException {
    for (var segment : segments(directory)) Files.delete(segment.file);
    DataDirectory.force(directory.resolve("current"));
  }

  /** In their order. */
  private static List<Segment> segments(Path directory) throws IOException {
    var segments = new ArrayList<Segment>();
    try (var files = Files.newDirectoryStream(directory.resolve("current"), "log_*")) {
      for (Path file : files) {
        var name = SEGMENT.matcher(String.valueOf(file.getFileName()));
        if (name.matches()) segments.add(new Segment(file, Long.parseLong(name.group(1)), name.group(2) == null ? -1 : Long.parseLong(name.group(2))));
      }
    }
    segments.sort(Comparator.comparingLong(Segment::first));
    return segments;
  }

  /** @param last -1 for an open one */
  private record Segment(Path file, long first, long last) {
    private boolean follows(Segment before) {
      return before.last < 0 || first == before.last + 1;
    }

    private boolean lacksEntries() throws IOException {
      return last >= 0 && entries() < last - first + 1;
    }

    private long end() throws IOException {
      return last >= 0 ? last : first + entries() - 1;
    }

    /** Without one at the end of an open file that is not whole. */
    private int entries() throws IOException {
      if (Files.size(file) == 0) return 0; // Ratis would delete it as it looks at its name
      var range = LogSegmentPath.matchLogSegment(file);
      if (range == null) throw new IOException("no file of a log: " + file);
      return LogSegment.readSegmentFile(file.toFile(), range.getStartEnd(), ENTRY_BYTES_MAX, CorruptionPolicy.EXCEPTION, null, _ -> {});
    }
  }

  /** Writes the peers in the form that Ratis uses for an entry that has been truncated. */
  private static void writeConfiguration(Path current, List<RaftPeer> peers) throws IOException {
    var written = RaftConfigurationProto.newBuilder();
    for (var peer : peers) written.addPeers(peer.getRaftPeerProto());
    byte[] bytes = LogEntryProto.newBuilder().setIndex(BEFORE_FIRST_INDEX).setConfigurationEntry(written).build().toByteArray();
    Path file = current.resolve(CONFIGURATION_FILE);
    Files.write(file, bytes);
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
    DataDirectory.force(current);
  }

  public static void deleteTree(Path directory) throws IOException {
    if (!Files.exists(directory)) return;
    try (var found = Files.walk(directory)) {
      for (Path path : found.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
    }
  }
}
