package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;

/** Compares the clock of another node with that of this one, by a question whose way takes time. */
public final class PeerClock {
  private static final long APART_MILLIS = 1_000;

  private PeerClock() {}

  /**
   * Compares them.
   *
   * @param with the id of this node
   * @param before milliseconds since 1970 by this node's clock when it asked
   * @param after the same when it had the answer
   * @param there the time that the other node has answered
   */
  public static Finding compare(String with, long before, long after, long there) {
    String check = "clock-of-nodes";
    // The other clock was read between before and after, so it is ahead by this, and behind when this is negative.
    long aheadLeast = there - after;
    long aheadMost = there - before;
    if (aheadLeast > APART_MILLIS || aheadMost < -APART_MILLIS) {
      boolean ahead = aheadLeast > 0;
      return Finding.warning(
          check, "Its clock is at least %d ms %s that of the node %s.".formatted(Math.abs(ahead ? aheadLeast : aheadMost), ahead ? "ahead of" : "behind", with),
          "Keep the clocks of all machines right by NTP: a start of a node begins with its machine's clock, and nodes compare times.");
    }
    long apart = Math.max(Math.abs(aheadLeast), Math.abs(aheadMost));
    if (apart <= APART_MILLIS) return Finding.ok(check, "Its clock differs from that of the node %s by no more than %d ms.".formatted(with, apart));
    return Finding.unknown(check, "Its clock cannot be compared with that of the node %s, since the answer took %d ms.".formatted(with, after - before));
  }
}
