package dunlin.broker.meter;

import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What one event loop counts: its share of the ledgers of both hops that a frontend is. */
public final class LoopCounts {
  private final Hop publishes;
  private final Hop copies;
  private final LatencyHistogram.Local acknowledging;
  private final LatencyHistogram.Local delivering;

  public LoopCounts(HopLedger publishes, HopLedger copies, DropEvents events, LatencyHistogram acknowledging, LatencyHistogram delivering) {
    this.publishes = new Hop(publishes.local(), events, "publish");
    this.copies = new Hop(copies.local(), events, "session");
    this.acknowledging = acknowledging.local();
    this.delivering = delivering.local();
  }

  /** From a PUBLISH to its PUBACK or PUBREC. */
  public LatencyHistogram.Local acknowledging() {
    return acknowledging;
  }

  /** From a PUBLISH until it is written for a subscriber. */
  public LatencyHistogram.Local delivering() {
    return delivering;
  }

  /** From the client to the dist tier: one for each PUBLISH. */
  public Hop publishes() {
    return publishes;
  }

  /** A publish that waited for its answers has them. */
  public void publishAnswered(ReasonCode reason) {
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
  public Hop copies() {
    return copies;
  }

  /** One hop's counts on one loop. What is on its way is counted by itself, so that the ledger's balance proves something. */
  public static final class Hop {
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

    public void received() {
      local.received();
    }

    public void delivered() {
      local.delivered();
    }

    public void dropped(DropReason reason) {
      local.dropped(reason);
      events.dropped(hop, reason, 1, "");
    }

    /** Went back to where it came from, which still has it or gives it to another. */
    public void returned() {
      local.returned();
    }

    /** More or fewer messages that have come and are neither delivered nor dropped yet. */
    public void waiting(int change) {
      WAITING.setOpaque(this, waiting + change);
    }

    /** Any thread. */
    public long waiting() {
      return (long) WAITING.getOpaque(this);
    }
  }
}
