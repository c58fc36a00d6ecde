package dunlin.transport.lane;

import java.util.IdentityHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bytes of messages that all lanes from other processes together may have in flight at this one. Each lane gets an
 * equal share and is told when that changes; {@link RemoteLane} obeys it.
 */
public final class SharedWindow {
  /*
   * A sender has a window of its own, but it does not know how many others send here. Without a common one, what this
   * process holds would grow with the number of frontends.
   *
   * Owner: any thread; the map is guarded by this object. A share is sent on its lane's thread.
   * Bounds: bytesMax, but SHARE_MIN for each lane at least. A lane takes its last message whole, and may send more
   * until it has heard of a smaller share, so that the bytes in flight exceed the bound for the time of a round trip
   * when a lane is added.
   * Failure: a lane that has ended gives its share to the others. If that is not heard of, its share stays unused until
   * the owner of the lanes closes them all and makes another window.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SharedWindow.class);
  static final long SHARE_MIN = 64 * 1_024;

  private final long bytesMax;
  private final IdentityHashMap<ReceivingStream, Executor> lanes = new IdentityHashMap<>();

  /** @param bytesMax bytes of all messages that have arrived and are not answered, from 1 */
  public SharedWindow(long bytesMax) {
    if (bytesMax < 1) throw new IllegalArgumentException("a window of " + bytesMax + " bytes");
    this.bytesMax = bytesMax;
  }

  /** @param thread that of the lane */
  synchronized void add(ReceivingStream lane, Executor thread) {
    lanes.put(lane, thread);
    tellAll();
  }

  synchronized void remove(ReceivingStream lane) {
    if (lanes.remove(lane) != null && !lanes.isEmpty()) tellAll();
  }

  private void tellAll() {
    byte[] share = encode(share());
    lanes.forEach(
        (lane, thread) -> {
          try {
            thread.execute(() -> lane.tell(share));
          } catch (RejectedExecutionException over) {
            LOG.debug("The thread of a lane has ended");
          }
        });
  }

  /** The bytes that each lane may have in flight. */
  synchronized long share() {
    return Math.max(SHARE_MIN, bytesMax / Math.max(1, lanes.size()));
  }

  /** The bytes of all messages that have arrived and are not answered. */
  public synchronized long used() {
    return lanes.keySet().stream().mapToLong(ReceivingStream::unansweredBytes).sum();
  }

  private static byte[] encode(long share) {
    var out = new FrameWriter();
    out.number(share);
    return out.take();
  }

  static long decode(FrameReader in) throws MalformedFrameException {
    long share = in.number();
    if (share < SHARE_MIN) throw new MalformedFrameException("a window of " + share + " bytes");
    return share;
  }
}
