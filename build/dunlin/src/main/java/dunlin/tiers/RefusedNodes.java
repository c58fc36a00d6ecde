package dunlin.tiers;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** Nodes whose hosts refuse the connections of this node: no process listens there, so theirs has ended. */
final class RefusedNodes {
  /*
   * Links to a process that has ended are dialled again and again, and each time refused. One refusal may be that of a process that is about to
   * listen, so a node is gone only while refusals have gone on for SERIES_NANOS.
   *
   * A process that stands still refuses nothing, nor does a network that is cut. A firewall that rejects packets instead of dropping them does: docs/running.md
   * says that it must not.
   *
   * Owner: the threads of the links note, any thread asks.
   * Bounds: the nodes that this node dials, which are those of the map.
   */
  private static final long SERIES_NANOS = 500_000_000;

  /** Longer than the pause between two attempts of a link. */
  private static final long RECENT_NANOS = 2_500_000_000L;

  /** Refusals without a longer pause between them. */
  private record Series(long firstNanos, long lastNanos) {}

  private final Map<UUID, Series> refused = new ConcurrentHashMap<>();
  private final LongSupplier nanoTime;

  RefusedNodes(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** The node's host has refused a connection. */
  void note(UUID node) {
    long now = nanoTime.getAsLong();
    refused.merge(node, new Series(now, now), (before, fresh) -> now - before.lastNanos > RECENT_NANOS ? fresh : new Series(before.firstNanos, now));
  }

  /** The node's process is there: what was refused before counts no more. */
  void isThere(UUID node) {
    refused.remove(node);
  }

  /** Whether the node's process has ended. */
  boolean isGone(UUID node) {
    var series = refused.get(node);
    return series != null && series.lastNanos - series.firstNanos >= SERIES_NANOS && nanoTime.getAsLong() - series.lastNanos <= RECENT_NANOS;
  }
}
