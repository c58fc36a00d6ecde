package dunlin.transport.lane;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * The bytes of messages that all lanes from other processes together may have in flight at this one. Each lane gets an
 * equal share, and the new one when that changes; {@link RemoteLane} obeys it.
 */
public final class SharedWindow {
  /*
   * A sender has a window of its own, but it does not know how many others send here. Without a common one, what this
   * process holds would grow with the number of frontends.
   *
   * Owner: any thread; the lanes are guarded by this object.
   * Bounds: bytesMax, but SHARE_MIN for each lane at least. A lane takes its last message whole, and may send more
   * until it has heard of a smaller share, so that the bytes in flight exceed the bound for the time of a round trip
   * when a lane is added.
   * Failure: a lane that has ended gives its share to the others. If that is not heard of, its share stays unused until
   * the owner of the lanes closes them all and makes another window.
   */
  static final long SHARE_MIN = 64 * 1_024;

  private final long bytesMax;

  @GuardedBy("this")
  private final Set<ReceivingStream> lanes = Collections.newSetFromMap(new IdentityHashMap<>());

  /** @param bytesMax bytes of all messages that have arrived and are not answered, from 1 */
  public SharedWindow(long bytesMax) {
    if (bytesMax < 1) throw new IllegalArgumentException("a window of " + bytesMax + " bytes");
    this.bytesMax = bytesMax;
  }

  synchronized void add(ReceivingStream lane) {
    if (lanes.add(lane)) tellAll();
  }

  synchronized void remove(ReceivingStream lane) {
    if (lanes.remove(lane)) tellAll();
  }

  @GuardedBy("this")
  private void tellAll() {
    byte[] share = new FrameWriter().number(share()).take();
    lanes.forEach(lane -> lane.tellSoon(share));
  }

  /** The bytes that each lane may have in flight. */
  synchronized long share() {
    return Math.max(SHARE_MIN, bytesMax / Math.max(1, lanes.size()));
  }

  /** The bytes of all messages that have arrived and are not answered. */
  public synchronized long used() {
    return lanes.stream().mapToLong(ReceivingStream::unansweredBytes).sum();
  }

  static long decode(FrameReader in) throws MalformedFrameException {
    long share = in.number();
    if (share < SHARE_MIN) throw new MalformedFrameException("a window of " + share + " bytes");
    return share;
  }
}
