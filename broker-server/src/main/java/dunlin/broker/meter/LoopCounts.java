package dunlin.broker.meter;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import dunlin.transport.TierAnswers;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** The counts of one event loop: its part of the ledgers of the frontend's two hops. What is counted for a message is noted in the traces that follow it. */
public final class LoopCounts {
  private final Hop publishes;
  private final Hop copies;
  private final LatencyHistogram.Local acknowledging;
  private final LatencyHistogram.Local delivering;

  public LoopCounts(
      HopLedger publishes, HopLedger copies, DropEvents events, Tracer tracer, LatencyHistogram acknowledging, LatencyHistogram delivering) {
    this.publishes = new Hop(publishes.local(), events, tracer, "publish");
    this.copies = new Hop(copies.local(), events, tracer, "session");
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

  /**
   * Counts a publish whose answers are complete.
   *
   * @param answer of the tiers, which may be one of {@link TierAnswers}
   * @param message null if no trace followed it when it came
   */
  public void publishAnswered(ReasonCode answer, @Nullable Publication message, @Nullable Party publisher) {
    publishes.waiting(-1);
    if (answer.isError()) publishes.dropped(dropReason(answer), message, publisher);
    else publishes.delivered();
    publishes.note(Step.ANSWERED, TierAnswers.forPublisher(answer).label(), message, publisher);
  }

  private static DropReason dropReason(ReasonCode answer) {
    if (answer == TierAnswers.NO_MEMBER) return DropReason.NO_MEMBER;
    if (answer == TierAnswers.RETAINED_FULL) return DropReason.RETAINED_FULL;
    return switch (answer) {
      case QUOTA_EXCEEDED -> DropReason.QUEUE_FULL; // an inbox that rejects
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
    private final Tracer tracer;
    private final String hop;

    private long waiting;

    private Hop(HopLedger.Local local, DropEvents events, Tracer tracer, String hop) {
      this.local = local;
      this.events = events;
      this.tracer = tracer;
      this.hop = hop;
    }

    /** @param message null when there is none to note, as below */
    public void received(@Nullable Publication message, @Nullable Party party) {
      local.received();
      note(Step.RECEIVED, "", message, party);
    }

    public void delivered(Publication message, @Nullable Party party) {
      delivered();
      note(Step.DELIVERED, "", message, party);
    }

    /** Counts a message whose last step is noted already. */
    public void delivered() {
      local.delivered();
    }

    public void dropped(DropReason reason, @Nullable Publication message, @Nullable Party party) {
      local.dropped(reason);
      events.dropped(hop, reason, 1, "");
      note(Step.DROPPED, reason.tag(), message, party);
    }

    /** Counts a message that went back to its source, which still has it or gives it to another session. */
    public void returned(Publication message, @Nullable Party party) {
      local.returned();
      note(Step.RETURNED, "", message, party);
    }

    /** Whether a trace runs, so that it is worth while to make a message only for a note. */
    public boolean notes() {
      return tracer.runs();
    }

    /** Whether a trace follows a message. */
    public boolean follows(Publication message, @Nullable Party party) {
      return tracer.follows(message, party);
    }

    /**
     * Notes what is in no books. Any thread.
     *
     * @param message null when there is none to note
     */
    public void note(Step step, String reason, @Nullable Publication message, @Nullable Party party) {
      if (message != null) tracer.note(hop, step, reason, message, party);
    }

    /** Changes the number of messages that have arrived and are neither delivered nor dropped yet. */
    public void waiting(int change) {
      WAITING.setOpaque(this, waiting + change);
    }

    /** The account of this loop, on its thread and between two of its tasks: then it balances. */
    public HopLedger.Reading reading() {
      HopLedger.Reading reading = local.reading(waiting);
      assert reading.balanced() : reading;
      return reading;
    }

    /** The number of waiting messages. Any thread. */
    public long waiting() {
      return (long) WAITING.getOpaque(this);
    }
  }
}
