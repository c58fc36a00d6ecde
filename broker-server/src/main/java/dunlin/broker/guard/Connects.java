package dunlin.broker.guard;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** The accepted CONNECTs of a client in its present window, and where the last of them came from. */
final class Connects {
  /*
   * Owner: any thread; guarded by its monitor, since the connections of a client may be on several event loops.
   */
  @GuardedBy("this")
  private int count;
  @GuardedBy("this")
  private int takeOvers;
  @GuardedBy("this")
  private @Nullable SocketAddress last;

  /** The last address whose host is not that of {@link #last}. */
  @GuardedBy("this")
  private @Nullable SocketAddress other;

  /** The last other node that a connection was taken over from; empty for none. */
  @GuardedBy("this")
  private String otherNode = "";

  /**
   * What happened up to a CONNECT.
   *
   * @param other null when all addresses were of one host
   */
  record Seen(int count, int takeOvers, @Nullable SocketAddress other, String otherNode) {}

  synchronized Seen add(Arrival arrival) {
    SocketAddress before = last;
    if (before != null && !host(before).equals(host(arrival.address()))) other = before;
    last = arrival.address();
    count++;
    if (arrival.takeOver()) takeOvers++;
    if (!arrival.otherNode().isEmpty()) otherNode = arrival.otherNode();
    return new Seen(count, takeOvers, other, otherNode);
  }

  private static Object host(SocketAddress address) {
    InetAddress host = address instanceof InetSocketAddress internet ? internet.getAddress() : null;
    return host == null ? address : host;
  }
}
