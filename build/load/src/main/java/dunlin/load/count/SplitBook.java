package dunlin.load.count;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The messages that the members of a shared group have received here when it has members in other processes too: one
 * bit per message, to be merged with theirs.
 */
public final class SplitBook extends GroupBook {
  /*
   * Owner: any event loop; each stream's bits have a lock, held for an access to one word.
   * Bounds: BYTES_MAX of bits in a process, for all groups. Full: the message is UNCHECKED.
   */
  public static final long BYTES_MAX = 256_000_000;

  private final AtomicLong bytesLeft; // shared by all groups
  private final Map<Long, Bits> streams = new ConcurrentHashMap<>();

  public SplitBook(AtomicLong bytesLeft) {
    this.bytesLeft = bytesLeft;
  }

  @Override
  public Arrival receive(long key, long sequence) {
    Bits bits = streams.computeIfAbsent(key, _ -> new Bits());
    synchronized (bits) {
      long more = bits.bytesFor(sequence);
      if (more > 0 && !take(more)) return Arrival.UNCHECKED;
      return bits.set(sequence) ? Arrival.IN_ORDER : Arrival.DUPLICATE;
    }
  }

  private boolean take(long bytes) {
    long left = bytesLeft.get();
    while (left >= bytes) {
      long seen = bytesLeft.compareAndExchange(left, left - bytes);
      if (seen == left) return true;
      left = seen;
    }
    return false;
  }

  /** The bits by stream key; to be read when no more messages arrive. */
  public Map<Long, Bits> streams() {
    return streams;
  }
}
