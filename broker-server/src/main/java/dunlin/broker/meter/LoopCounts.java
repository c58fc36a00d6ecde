package dunlin.broker.meter;

import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The counts of one event loop: its part of the ledgers of the frontend's two hops. */
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

  /** The times from PUBLISH to PUBACK or PUBREC. */
  public LatencyHistogram.Local acknowledging() {
    return acknowledging;
  }

  /** The times from PUBLISH until the message is written for a subscriber. */
  public LatencyHistogram.Local delivering() {
    return delivering;
  }

  /** The hop from the client to the dist tier: one message for each PUBLISH. */
  public Hop publishes() {
    return publishes;
  }

  /** Counts a publish whose answers are complete. */
  public void publishAnswered(ReasonCode reason) {
    publishes.waiting(-1);
    if (reason.isError()) publishes.dropped(dropReason(reason));
    else publishes.delivered();
  }

  private static DropReason dropReason(ReasonCode reason) {
    return switch (reason) {
      case QUOTA_EXCEEDED -> DropReason.NO_MEMBER;
      case SESSION_TAKEN_OVER -> DropReason.SESSION_ENDED; // its exchange continues in the connection that took over
      case SERVER_BUSY, SERVER_UNAVAILABLE -> DropReason.OVERLOADED;
      case NOT_AUTHORIZED -> DropReason.NOT_AUTHORIZED;
      default -> DropReason.NOT_DURABLE;
    };
  }

  /** The hop from the frontend to its sessions: one message for each session that it goes to. */
  public Hop copies() {
    return copies;
  }

  /**
   * One hop's counts on one loop. Messages in flight are counted separately, so that the balance of the ledger is a
   * real check.
   */
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

    /** Counts a message that went back to its source, which still has it or gives it to another session. */
    public void returned() {
      local.returned();
    }

    /** Changes the number of messages that have arrived and are neither delivered nor dropped yet. */
    public void waiting(int change) {
      WAITING.setOpaque(this, waiting + change);
    }

    /** The number of waiting messages. Any thread. */
    public long waiting() {
      return (long) WAITING.getOpaque(this);
    }
  }
}
