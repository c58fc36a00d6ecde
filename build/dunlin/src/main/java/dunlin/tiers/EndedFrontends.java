package dunlin.tiers;

import dunlin.links.LinkPeer;
import dunlin.store.grpc.FailureText;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends the links of frontends to a leader of the sessions whose processes have ended. */
final class EndedFrontends {
  /*
   * A link that is interrupted may resume for ten seconds. So long its frontend's connections count as there, and a client that was on one of them, and connects to
   * another broker, is not listened to: what it has published over the old one may still be on its way. When the process has ended, its connections have, too.
   *
   * Frontends open these links. So while one is interrupted, this side connects to the node's port, only to hear whether its host refuses (RefusedNodes).
   *
   * Owner: the thread of the links; a virtual thread for each attempt to connect.
   * Bounds: a link for each frontend, and one attempt at a time, of CONNECT_MILLIS, for each that is interrupted.
   * Failure: a node that does not refuse is waited for, as before.
   */
  private static final Logger LOG = LoggerFactory.getLogger(EndedFrontends.class);
  private static final int CONNECT_MILLIS = 1_000;

  private final RefusedNodes refused;
  private final Function<UUID, Optional<LinkPeer>> where;
  private final Map<UUID, Lease> leases = new HashMap<>();

  /** The present link of a frontend. */
  private static final class Lease {
    final Link link;
    final Link.Handler handler;

    /** Whether an attempt to connect to its node is in progress. Cleared by that attempt. */
    volatile boolean probed;

    Lease(Link link, Link.Handler handler) {
      this.link = link;
      this.handler = handler;
    }
  }

  /** @param where where a node's links are accepted, if this node knows it; any thread */
  EndedFrontends(RefusedNodes refused, Function<UUID, Optional<LinkPeer>> where) {
    this.refused = refused;
    this.where = where;
  }

  /** Accepts links, and watches each frontend's newest one. */
  LinkAcceptor.Factory watching(LinkAcceptor.Factory links) {
    return (link, opening) -> {
      var handler = links.open(link, opening);
      leases.put(UUID.fromString(link.caller()), new Lease(link, handler));
      return handler;
    };
  }

  /** Looks at all links; called a few times a second. */
  void compare() {
    leases.entrySet().removeIf(each -> isOver(each.getKey(), each.getValue()));
  }

  private boolean isOver(UUID node, Lease lease) {
    if (lease.link.isLost()) return true;
    if (lease.link.isConnected()) return false;
    if (!refused.isGone(node)) {
      probe(node, lease);
      return false;
    }
    LOG.info("The process of node {} has ended: its host refuses connections. Its clients' connections are treated as lost", node);
    lease.link.close();
    lease.handler.lost("its process has ended");
    return true;
  }

  private void probe(UUID node, Lease lease) {
    var at = where.apply(node).orElse(null);
    if (at == null || lease.probed) return;
    lease.probed = true;
    Thread.ofVirtual().name("dunlin-probe").start(() -> {
          if (refuses(at)) refused.note(node);
          lease.probed = false;
        });
  }

  private static boolean refuses(LinkPeer at) {
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(at.host(), at.port()), CONNECT_MILLIS);
      return false;
    } catch (IOException e) {
      return FailureText.isRefusedConnection(e);
    }
  }
}
