package dunlin.retain;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * How much a message may add to one of several ranges, so that all of them together stay within the bounds of the node.
 *
 * <p>A range cannot look at the others when it applies a command, or its replicas would decide differently. So each command brings what is left
 * for its range when it is proposed.
 */
final class SharedBounds {
  /*
   * A message claims, from before it is proposed until it is answered, all that it could add: a new topic, its name and its size. When all that
   * is claimed fits beside what the ranges have, the command brings the bounds themselves. Otherwise it brings them less what the other ranges
   * have and all others claim. Claims are counted first and the ranges read then, so the later of two sees the earlier, claimed or applied, and the
   * sums never pass the bounds. With nothing else claimed the bounds are exact. Else a message may be refused that would have fitted, by no more
   * than the claims.
   *
   * Owner: none; any thread.
   * Bounds: three numbers. The claims are those of the messages on their way to the log.
   * Failure: a message whose fate is unknown claims nothing any more. If it is applied after all, the sums may pass the bounds by it.
   */
  private final RetainBounds most;
  private final List<RetainRange> ranges;
  private final AtomicLong messages = new AtomicLong();
  private final AtomicLong topicBytes = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param bounds what its command brings
   */
  record Claim(long topicBytes, long bytes, RetainBounds bounds) {}

  SharedBounds(RetainBounds most, List<RetainRange> ranges) {
    this.most = most;
    this.ranges = List.copyOf(ranges);
  }

  /**
   * Claims room in a range; until {@link #release}.
   *
   * @param keyLength of the topic
   * @param messageLength as it is stored
   */
  Claim claim(int range, int keyLength, int messageLength) {
    long size = keyLength + SizeClass.bytes(Byte.toUnsignedInt(SizeClass.of(messageLength)));
    var bounds =
        new RetainBounds(
            allowed(most.messagesMax(), messages.incrementAndGet(), 1, range, each -> each.index().size()),
            allowed(most.topicBytesMax(), topicBytes.addAndGet(keyLength), keyLength, range, RetainRange::topicBytes),
            allowed(most.bytesMax(), bytes.addAndGet(size), size, range, RetainRange::bytes));
    return new Claim(keyLength, size, bounds);
  }

  private long allowed(long most, long claimed, long own, int range, ToLongFunction<RetainRange> used) {
    long elsewhere = 0;
    for (int i = 0; i < ranges.size(); i++) if (i != range) elsewhere += used.applyAsLong(ranges.get(i));
    if (claimed + elsewhere + used.applyAsLong(ranges.get(range)) <= most) return most;
    return Math.max(0, most - (claimed - own) - elsewhere);
  }

  /** The message has been answered. */
  void release(Claim claim) {
    messages.decrementAndGet();
    topicBytes.addAndGet(-claim.topicBytes());
    bytes.addAndGet(-claim.bytes());
  }
}
