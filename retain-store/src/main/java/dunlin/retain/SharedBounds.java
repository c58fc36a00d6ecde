package dunlin.retain;

import dunlin.retain.index.SizeClass;
import dunlin.runtime.memory.HeapGuard;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * Divides the node's limits among several ranges, so that all of them together stay within the limits.
 *
 * <p>A range cannot read the others when it applies a command, or its replicas would decide differently. So each
 * command has the limits that are left for its range when it is proposed.
 */
final class SharedBounds {
  /*
   * From before it is proposed until it is answered, a message claims all that it could add: a new topic, its name and
   * its size. When all claims fit beside the ranges' contents, the command has the whole limits. Otherwise it has the
   * limits minus the contents of the other ranges and all other claims. Claims are counted before the ranges are read,
   * so the later of two messages sees the earlier one, claimed or applied, and the sums never exceed the limits.
   * Without other claims the limits are exact. With them, a message may be refused although it would have fitted, by no
   * more than the claims.
   *
   * Owner: none; any thread.
   * Bounds: three numbers. The claims are those of pending messages.
   * Failure: a message with an unknown outcome no longer claims anything. If it is applied after all, the sums may
   * exceed the limits by it.
   */
  private final RetainBounds most;
  private final List<RetainRange> ranges;
  private final AtomicLong messages = new AtomicLong();
  private final AtomicLong topicBytes = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private volatile HeapGuard heap = HeapGuard.OFF;

  /**
   * @param bounds the limits for its command
   */
  record Claim(long topicBytes, long bytes, RetainBounds bounds) {}

  SharedBounds(RetainBounds most, List<RetainRange> ranges) {
    this.most = most;
    this.ranges = List.copyOf(ranges);
  }

  /** Leaves no room for new topics while this heap is full. */
  void guard(HeapGuard of) {
    heap = of;
  }

  /** The limits of all ranges together, for a server that has one range only. */
  RetainBounds whole() {
    return heap.isFull() ? most.withoutNewTopics() : most;
  }

  /**
   * Claims room in a range, until {@link #release}.
   *
   * @param keyLength the length of the topic's key
   * @param messageLength the length of the stored message
   */
  Claim claim(int range, int keyLength, int messageLength) {
    long size = keyLength + SizeClass.bytes(Byte.toUnsignedInt(SizeClass.of(messageLength)));
    var bounds =
        new RetainBounds(
            allowed(most.messagesMax(), messages.incrementAndGet(), 1, range, each -> each.index().size()),
            allowed(most.topicBytesMax(), topicBytes.addAndGet(keyLength), keyLength, range, RetainRange::topicBytes),
            allowed(most.bytesMax(), bytes.addAndGet(size), size, range, RetainRange::bytes));
    return new Claim(keyLength, size, heap.isFull() ? bounds.withoutNewTopics() : bounds);
  }

  private long allowed(long most, long claimed, long own, int range, ToLongFunction<RetainRange> used) {
    long elsewhere = 0;
    for (int i = 0; i < ranges.size(); i++) if (i != range) elsewhere += used.applyAsLong(ranges.get(i));
    if (claimed + elsewhere + used.applyAsLong(ranges.get(range)) <= most) return most;
    return Math.max(0, most - (claimed - own) - elsewhere);
  }

  /** Releases a claim; called when the message has been answered. */
  void release(Claim claim) {
    messages.decrementAndGet();
    topicBytes.addAndGet(-claim.topicBytes());
    bytes.addAndGet(-claim.bytes());
  }
}
