package dunlin.inbox.server;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What all ranges of a test do wrong. */
final class RangeFaults {
  volatile boolean full;
  volatile boolean broken;

  /** So many of the next commands are refused at once, as when the disk is full for a moment. */
  final AtomicInteger withoutDisk = new AtomicInteger();

  /** Commands of this class fail; null when none do. */
  volatile @Nullable Class<?> refusing;

  /** Commands of this class are applied, and nobody is told so; null when none are. */
  volatile @Nullable Class<?> silent;

  /** How many have failed. */
  final AtomicInteger refused = new AtomicInteger();

  /** How many have failed, or were applied unheard. */
  final AtomicInteger failed = new AtomicInteger();

  /** Those that are open. */
  final List<LocalRange<?, ?>> ranges = new CopyOnWriteArrayList<>();

  /** They are not full any more, and tell those that wait for that. */
  void hasRoom() {
    full = false;
    ranges.forEach(LocalRange::tellRoom);
  }
}
