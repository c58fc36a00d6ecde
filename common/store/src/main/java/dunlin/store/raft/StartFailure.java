package dunlin.store.raft;

import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.GroupStorage;
import java.nio.file.FileSystemException;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Explains why a Raft server did not start: which range is affected, and whether its files are damaged. */
final class StartFailure {
  /** In Ratis' message on a log that lacks entries between two files. */
  private static final String GAP = "gap between";

  private StartFailure() {}

  /** The affected range: Ratis names its group or directory in one of its messages, but for a log with a gap. That one is looked for in all logs, whose closed files are read. */
  static @Nullable ReplicatedRange<?, ?> about(Throwable failed, Collection<ReplicatedRange<?, ?>> ranges, DataDirectory data) {
    boolean gap = false;
    for (Throwable e = failed; e != null; e = e.getCause()) {
      for (var range : ranges) if (names(e.getMessage(), range)) return range;
      gap |= e.getMessage() != null && e.getMessage().contains(GAP);
    }
    if (!gap) return null;
    for (var range : ranges) if (GroupStorage.lacksEntries(data.raft(range.id()), false)) return range;
    return null;
  }

  private static boolean names(@Nullable String message, ReplicatedRange<?, ?> range) {
    return message != null
        && (message.contains(range.group().toString()) || message.contains(range.id().uuid().toString()));
  }

  /** Whether the content of files is damaged; false for missing permissions or a full disk. */
  static boolean damage(Throwable failed) {
    for (Throwable e = failed; e != null; e = e.getCause())
      if (e instanceof FileSystemException || e instanceof VirtualMachineError) return false;
    return true;
  }

  /** The failure in one sentence that names the range. */
  static StoreException in(Throwable failed, Collection<ReplicatedRange<?, ?>> ranges, DataDirectory data) {
    for (var range : ranges) {
      var rows = range.opening().isCompletedExceptionally() ? range.opening().exceptionNow() : null;
      if (rows instanceof StoreException e) return e;
    }
    Throwable root = failed;
    for (Throwable e = failed; e != null; e = e.getCause()) {
      if (e instanceof StoreException known) return known;
      root = e;
    }
    var about = about(failed, ranges, data);
    String reason = root.getMessage() == null ? root.toString() : root.getMessage();
    if (about == null) return new StoreException("the Raft server cannot start: " + reason, failed);
    return new StoreException(
        "range '" + about.id() + "': its log in " + data.raft(about.id()) + " cannot be loaded: " + reason, failed);
  }
}
