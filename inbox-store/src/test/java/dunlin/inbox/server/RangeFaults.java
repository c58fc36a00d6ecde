package dunlin.inbox.server;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The faults of all ranges of a test. */
final class RangeFaults {
  volatile boolean full;
  volatile boolean broken;

  /** How many of the next commands are refused at once, as if the disk were full for a moment. */
  final AtomicInteger withoutDisk = new AtomicInteger();

  /** Commands of this class fail; null when none do. */
  volatile @Nullable Class<?> refusing;

  /** Commands of this class are applied without an answer; null if there are none. */
  volatile @Nullable Class<?> silent;

  /** Commands as they come to the log, in any order of the ranges; null while they are not noted. */
  volatile @Nullable Queue<Object> log;

  /** Number of commands that have failed. */
  final AtomicInteger refused = new AtomicInteger();

  /** Number of commands that have failed or were applied without an answer. */
  final AtomicInteger failed = new AtomicInteger();

  /** The open ranges. */
  final List<LocalRange<?, ?>> ranges = new CopyOnWriteArrayList<>();

  /** Makes room in all ranges and notifies those that wait for it. */
  void hasRoom() {
    full = false;
    ranges.forEach(LocalRange::tellRoom);
  }
}
