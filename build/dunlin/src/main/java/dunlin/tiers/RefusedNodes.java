package dunlin.tiers;

import dunlin.links.LinkPeer;
import dunlin.store.grpc.FailureText;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Nodes whose hosts refuse the connections of this node: no process listens there, so theirs has ended. */
final class RefusedNodes {
  /*
   * Links to a process that has ended are dialled again and again, and each time refused. One refusal may be that of a process that is about to
   * listen, so a node is gone only while refusals have gone on for SERIES_NANOS. Links pause between their attempts, longer and longer, and publishers wait until the
   * node is known to be gone. So from the first refusal on this connects to the node's port by itself, until that has taken SERIES_NANOS or is not refused.
   *
   * A process that stands still refuses nothing, nor does a network that is cut. A firewall that rejects packets instead of dropping them does: docs/running.md
   * says that it must not.
   *
   * Owner: the threads of the links note, any thread asks; a virtual thread for each node that is looked at.
   * Bounds: the nodes that this node dials, which are those of the map; one connection at a time to each, of CONNECT_MILLIS.
   */
  private static final long SERIES_NANOS = 500_000_000;

  /** Longer than the pause between two attempts of a link. */
  private static final long RECENT_NANOS = 2_500_000_000L;

  private static final int CONNECT_MILLIS = 1_000;

  /** Between two connections while the host refuses, and after one that it has not refused. */
  private static final long LOOK_AGAIN_MILLIS = 50;

  private static final long PAUSE_MILLIS = 250;

  /** Refusals without a longer pause between them. */
  private record Series(long firstNanos, long lastNanos) {
    boolean isLong() {
      return lastNanos - firstNanos >= SERIES_NANOS;
    }
  }

  private final Map<UUID, Series> refused = new ConcurrentHashMap<>();

  /** The nodes that a thread looks at; it takes them out. */
  private final Set<UUID> lookedAt = ConcurrentHashMap.newKeySet();

  private final Function<UUID, Optional<LinkPeer>> where;
  private final LongSupplier nanoTime;

  /**
   * @param where where a node's links are accepted, if this node knows it; any thread
   * @param nanoTime counts as System.nanoTime does
   */
  RefusedNodes(Function<UUID, Optional<LinkPeer>> where, LongSupplier nanoTime) {
    this.where = where;
    this.nanoTime = nanoTime;
  }

  /** The node's host has refused a connection. */
  void note(UUID node) {
    if (!noted(node).isLong()) look(node);
  }

  private Series noted(UUID node) {
    long now = nanoTime.getAsLong();
    return refused.merge(node, new Series(now, now), (before, fresh) -> now - before.lastNanos > RECENT_NANOS ? fresh : new Series(before.firstNanos, now));
  }

  /** Connects to the node's port, to hear whether its host refuses, and goes on while it does and is not gone. Any thread; does nothing while that is in progress. */
  void look(UUID node) {
    if (lookedAt.add(node)) Thread.ofVirtual().name("dunlin-looks-at-" + node).start(() -> lookAt(node));
  }

  private void lookAt(UUID node) {
    try {
      long looked;
      do {
        while (refuses(node)) {
          if (noted(node).isLong()) return;
          Thread.sleep(LOOK_AGAIN_MILLIS);
        }
        looked = nanoTime.getAsLong();
        Thread.sleep(PAUSE_MILLIS); // it is asked for again and again while a link is interrupted
      } while (isRefusedSince(node, looked));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lookedAt.remove(node);
    }
  }

  /** Whether a link has been refused since, which did not look again because this was in progress. */
  private boolean isRefusedSince(UUID node, long nanos) {
    var series = refused.get(node);
    return series != null && series.lastNanos - nanos > 0;
  }

  private boolean refuses(UUID node) {
    var at = where.apply(node).orElse(null);
    if (at == null) return false;
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(at.host(), at.port()), CONNECT_MILLIS);
      return false;
    } catch (IOException e) {
      return FailureText.isRefusedConnection(e);
    }
  }

  /** The node's process is there: what was refused before counts no more. */
  void isThere(UUID node) {
    refused.remove(node);
  }

  /** Whether the node's process has ended. */
  boolean isGone(UUID node) {
    var series = refused.get(node);
    return series != null && series.isLong() && nanoTime.getAsLong() - series.lastNanos <= RECENT_NANOS;
  }
}
