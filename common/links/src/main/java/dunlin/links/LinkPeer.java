package dunlin.links;

import java.util.UUID;

/**
 * A process that links can be opened to.
 *
 * @param node its id; another node at the same address refuses the link
 * @param host its host; with TLS its certificate must be valid for it
 */
public record LinkPeer(UUID node, String host, int port) {
  @Override
  public String toString() {
    return "node " + node + " at " + host + ":" + port;
  }
}
