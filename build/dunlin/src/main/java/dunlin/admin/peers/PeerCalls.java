package dunlin.admin.peers;

import java.io.IOException;
import java.time.Duration;
import java.util.UUID;

/** Carries questions to other nodes of the cluster, whose {@link PeerAnswers} answers them. */
@FunctionalInterface
public interface PeerCalls {
  /**
   * Blocks, on a thread that may.
   *
   * @throws IOException when there is no answer; its message goes on behind the name of the node: {@code did not answer within 2 s}
   */
  byte[] ask(UUID node, byte[] question, Duration deadline) throws IOException;
}
