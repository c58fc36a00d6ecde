package dunlin.broker;

import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What one event loop counts: its share of the ledgers of both hops that a frontend is. */
final class LoopCounts {
  private final Hop publishes;
  private final Hop copies;
  private final LatencyHistogram.Local acknowledging;
  private final LatencyHistogram.Local delivering;

  LoopCounts(HopLedger publishes, HopLedger copies, DropEvents events, LatencyHistogram acknowledging, LatencyHistogram delivering) {
    this.publishes = new Hop(publishes.local(), events, "publish");
    this.copies = new Hop(copies.local(), events, "session");
    this.acknowledging = acknowledging.local();
    this.delivering = delivering.local();
  }

  /** From a PUBLISH to its PUBACK or PUBREC. */
  LatencyHistogram.Local acknowledging() {
    return acknowledging;
  }

  /** From a PUBLISH until it is written for a subscriber. */
  LatencyHistogram.Local delivering() {
    return delivering;
  }

  /** From the client to the dist tier: one for each PUBLISH. */
  Hop publishes() {
    return publishes;
  }

  /** A publish that waited for its answers has them. */
  void publishAnswered(ReasonCode reason) {
    publishes.waiting(-1);
    if (reason.isError()) publishes.dropped(dropReason(reason));
    else publishes.delivered();
  }

  private static DropReason dropReason(ReasonCode reason) {
    return switch (reason) {
      case QUOTA_EXCEEDED -> DropReason.NO_MEMBER;
      case SESSION_TAKEN_OVER -> DropReason.SESSION_ENDED; // its exchange goes on in the connection that took over
      case SERVER_BUSY, SERVER_UNAVAILABLE -> DropReason.OVERLOADED;
      default -> DropReason.NOT_DURABLE;
    };
  }

  /** From the frontend to its sessions: one for each session that a message is meant for. */
  Hop copies() {
    return copies;
  }

  /** One hop's counts on one loop. What is on its way is counted by itself, so that the ledger's balance proves something. */
  static final class Hop {
    private static final VarHandle WAITING;

    static {
      try {
        WAITING = MethodHandles.lookup().findVarHandle(Hop.class, "waiting", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final HopLedger.Local local;
    private final DropEvents events;
    private final String hop;

    private long waiting;

    private Hop(HopLedger.Local local, DropEvents events, String hop) {
      this.local = local;
      this.events = events;
      this.hop = hop;
    }

    void received() {
      local.received();
    }

    void delivered() {
      local.delivered();
    }

    void dropped(DropReason reason) {
      local.dropped(reason);
      events.dropped(hop, reason, 1, "");
    }

    /** Went back to where it came from, which still has it or gives it to another. */
    void returned() {
      local.returned();
    }

    /** More or fewer messages that have come and are neither delivered nor dropped yet. */
    void waiting(int change) {
      WAITING.setOpaque(this, waiting + change);
    }

    /** Any thread. */
    long waiting() {
      return (long) WAITING.getOpaque(this);
    }
  }
}
