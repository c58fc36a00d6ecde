package dunlin.cluster.call;

import java.io.IOException;
import java.time.Duration;

/**
 * Carries calls to other nodes: what is sent here comes to {@link dunlin.cluster.Cluster#answer} there, and its answer comes back. A caller that can
 * call can change the cluster, so the carrier lets only its nodes through, and
 * talks to none that cannot prove to have the name of its address.
 */
public interface NodeCalls {
  /** Most bytes that a call or an answer has: the whole map of a large cluster. */
  int BYTES_MAX = 16 * 1024 * 1024;

  /** How many calls to one node may be under way and are carried. */
  int CALLS_MAX = 16;

  /**
   * Blocks, on a thread that may.
   *
   * @throws IOException for whatever does not work; the other node may have got the call all the same
   */
  byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException;
}
