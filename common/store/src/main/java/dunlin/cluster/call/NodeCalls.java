package dunlin.cluster.call;

import java.io.IOException;
import java.time.Duration;

/**
 * Carries calls to other nodes: a request goes to {@link dunlin.cluster.Cluster#answer} of the other node, and its
 * answer comes back. A caller can change the cluster, so the carrier admits only nodes of the cluster, and calls no
 * server that cannot prove the name of its address.
 */
public interface NodeCalls {
  /** Most bytes that a call or an answer has: the whole map of a large cluster. */
  int BYTES_MAX = 16 * 1024 * 1024;

  /** The most calls to one node that may be in progress. */
  int CALLS_MAX = 16;

  /**
   * Blocks, on a thread that may.
   *
   * @throws IOException for any failure; the other node may have received the call all the same
   */
  byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException;
}
