package dunlin.links;

import java.util.UUID;

/**
 * A process that links lead to.
 *
 * @param node its id; another node that has its address now refuses the link
 * @param host with TLS its certificate must be valid for it
 */
public record LinkPeer(UUID node, String host, int port) {
  @Override
  public String toString() {
    return "node " + node + " at " + host + ":" + port;
  }
}
