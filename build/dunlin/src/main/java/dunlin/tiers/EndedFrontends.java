package dunlin.tiers;

import dunlin.runtime.LineLimit;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.micrometer.core.instrument.Counter;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notices that the processes of frontends have ended: their links to a leader of the sessions end, and nothing of their connections is waited for. */
final class EndedFrontends {
  /*
   * A link that is interrupted may resume for ten seconds. So long its frontend's connections count as there, and a client that was on one of them, and connects to
   * another broker, is not listened to: what it has published over the old one may still be on its way. When the process has ended, its connections have, too.
   *
   * Frontends open these links. So while one is interrupted, this side connects to the node's port, only to hear whether its host refuses (RefusedNodes).
   *
   * A new leader has no link of a frontend whose process ended with the old leader or before. Clients that have moved away from it wait for it to come: its port is tried, too.
   *
   * Owner: the thread of the links.
   * Bounds: a link for each frontend. One that clients wait for is found to have ended at every look until it is gone, and is counted once; the lines of the log have a limit of their own.
   * Failure: a node that does not refuse is waited for, as before.
   */
  private static final Logger LOG = LoggerFactory.getLogger(EndedFrontends.class);

  private final RefusedNodes refused;
  private final Awaited awaited;
  private final Counter found;
  private final LineLimit lines;
  private final Map<UUID, Lease> leases = new HashMap<>();

  /** Those whose processes were found to have ended, while clients wait for them. */
  private final Set<UUID> ended = new HashSet<>();

  /** What the leader of the sessions knows of frontends that have not come to it. */
  interface Awaited {
    /** Those that clients wait for which have moved away from them, each with its latest life that is concerned. */
    Map<String, Long> frontends();

    /** The process with this life of a frontend, and all earlier ones, has ended. */
    void isGone(String frontend, long incarnation);
  }

  /** The present link of a frontend. */
  private record Lease(Link link, Link.Handler handler) {}

  /**
   * @param found counts frontends whose processes have ended
   * @param lines of the log about them
   */
  EndedFrontends(RefusedNodes refused, Awaited awaited, Counter found, LineLimit lines) {
    this.refused = refused;
    this.awaited = awaited;
    this.found = found;
    this.lines = lines;
  }

  /** Accepts links, and watches each frontend's newest one. */
  LinkAcceptor.Factory watching(LinkAcceptor.Factory links) {
    return (link, opening) -> {
      var handler = links.open(link, opening);
      leases.put(UUID.fromString(link.caller()), new Lease(link, handler));
      return handler;
    };
  }

  /** Looks at all links; called many times a second. */
  void compare() {
    leases.entrySet().removeIf(each -> isOver(each.getKey(), each.getValue()));
    var coming = awaited.frontends();
    ended.removeIf(node -> !coming.containsKey(node.toString()));
    coming.forEach(
        (frontend, incarnation) -> {
          var node = UUID.fromString(frontend);
          if (!leases.containsKey(node) && isGone(node)) awaited.isGone(frontend, incarnation);
        });
  }

  private boolean isOver(UUID node, Lease lease) {
    if (lease.link.isLost()) return true;
    if (lease.link.isConnected()) return false;
    if (!isGone(node)) return false;
    lease.link.close();
    lease.handler.lost("its process has ended");
    return true;
  }

  private boolean isGone(UUID node) {
    if (!refused.isGone(node)) {
      refused.look(node);
      ended.remove(node);
      return false;
    }
    if (!ended.add(node)) return true;
    found.increment();
    if (lines.admits())
      LOG.info(
          "The process of node {} has ended: its host refuses connections. Its clients' connections are treated as lost; {} more such nodes were not logged", node, lines.leftOut());
    return true;
  }
}
