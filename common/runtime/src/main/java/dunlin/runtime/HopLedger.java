package dunlin.runtime;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The message accounting of one hop: at rest, {@code received = delivered + returned + dropped + in flight}.
 *
 * <p>A hop counts what it must deliver: if it makes three copies of one message, it has received three. Each thread
 * counts in a {@link Local} of its own; readers add them up.
 */
public final class HopLedger implements AutoCloseable {
  /*
   * Owner: any thread may read; each Local is written by its own thread only.
   * Bounds: one Local for each counting thread, that is for each event loop or lane; they are kept when their thread
   * ends, since their counts remain valid.
   * Failure: counts end with the process. A concurrent reader sees sums that are off by the messages in motion, never a
   * torn value. A Reading has none of these: it is made on the thread that counts, between two messages.
   */
  private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);
  private static final DropReason[] REASONS = DropReason.values();

  /** Longs on either side of the counts, so that two threads' counts never share a pair of cache lines. */
  private static final int PADDING = 16;

  private static final int RECEIVED = PADDING;
  private static final int DELIVERED = PADDING + 1;
  private static final int RETURNED = PADDING + 2;
  private static final int FIRST_REASON = PADDING + 3;
  private static final int LENGTH = FIRST_REASON + REASONS.length + PADDING;

  private final MeterRegistry registry;
  private final String hop;
  private final LongSupplier inFlight;
  private final List<Meter> meters = new ArrayList<>();
  private final List<Local> locals = new CopyOnWriteArrayList<>();

  /**
   * Opens a hop's ledger and registers its meters.
   *
   * @param hop its name: the tag of its meters, {@code publish} or {@code session}; one ledger for each name
   *     and node. Its drops have a meter for each reason that {@linkplain DropReason#hops is} of this hop
   * @param inFlight how many messages the hop holds now; called by readers, on any thread
   */
  public HopLedger(MeterRegistry registry, String hop, LongSupplier inFlight) {
    this.registry = registry;
    this.hop = hop;
    this.inFlight = inFlight;
    meters.add(
        FunctionCounter.builder("dunlin.messages.received", this, HopLedger::received)
            .description("Messages that a hop has received")
            .tag("hop", hop)
            .register(registry));
    meters.add(
        FunctionCounter.builder("dunlin.messages.delivered", this, HopLedger::delivered)
            .description("Messages that a hop has delivered")
            .tag("hop", hop)
            .register(registry));
    meters.add(
        FunctionCounter.builder("dunlin.messages.returned", this, HopLedger::returned)
            .description("Messages that a hop has returned to where they came from")
            .tag("hop", hop)
            .register(registry));
    for (DropReason reason : REASONS) {
      if (!reason.hops().contains(hop)) continue;
      meters.add(
          FunctionCounter.builder("dunlin.messages.dropped", this, ledger -> ledger.dropped(reason))
              .description("Messages that a hop has dropped, by reason")
              .tag("hop", hop)
              .tag("reason", reason.tag())
              .register(registry));
    }
    meters.add(
        Gauge.builder("dunlin.messages.in-flight", this, HopLedger::inFlight)
            .description("Messages that a hop holds")
            .tag("hop", hop)
            .strongReference(true) // the counters hold the ledger weakly; this gauge keeps it alive as long as its meters
            .register(registry));
  }

  /** A part of the ledger for one thread, the only one that may write to it. */
  public Local local() {
    Local local = new Local(hop);
    locals.add(local);
    return local;
  }

  public long received() {
    return sum(RECEIVED);
  }

  public long delivered() {
    return sum(DELIVERED);
  }

  /** Messages that were returned to the hop they came from, which still has them. */
  public long returned() {
    return sum(RETURNED);
  }

  public long dropped(DropReason reason) {
    return sum(indexOf(reason));
  }

  public long dropped() {
    long dropped = 0;
    for (DropReason reason : REASONS) dropped += dropped(reason);
    return dropped;
  }

  public long inFlight() {
    return inFlight.getAsLong();
  }

  /** Whether every message is accounted for. Only meaningful at rest; tests wait for it. */
  public boolean balanced() {
    return received() == delivered() + returned() + dropped() + inFlight();
  }

  /** Removes the meters. The counts can still be read here. */
  @Override
  public void close() {
    meters.forEach(registry::remove);
  }

  private long sum(int index) {
    long sum = 0;
    for (Local local : locals) sum += local.read(index);
    return sum;
  }

  @SuppressWarnings("EnumOrdinal") // the index is only used within this process and never stored
  private static int indexOf(DropReason reason) {
    return FIRST_REASON + reason.ordinal();
  }

  /**
   * The account of one thread at one moment, or the sum of such accounts: each balances, so their sum does.
   *
   * @param dropped by reason; without those of which there are none
   */
  public record Reading(String hop, long received, long delivered, long returned, Map<DropReason, Long> dropped, long inFlight) {
    public Reading {
      Map<DropReason, Long> some = new EnumMap<>(DropReason.class);
      dropped.forEach(
          (reason, messages) -> {
            if (messages != 0) some.put(reason, messages);
          });
      dropped = Collections.unmodifiableMap(some);
    }

    /** Whether every message is accounted for. */
    public boolean balanced() {
      return received == delivered + returned + dropped.values().stream().mapToLong(Long::longValue).sum() + inFlight;
    }

    /** This and the account of another thread at the same hop. */
    public Reading plus(Reading other) {
      assert hop.equals(other.hop) : hop + " and " + other.hop;
      Map<DropReason, Long> both = new EnumMap<>(DropReason.class);
      both.putAll(dropped);
      other.dropped.forEach((reason, messages) -> both.merge(reason, messages, Long::sum));
      return new Reading(hop, received + other.received, delivered + other.delivered, returned + other.returned, both, inFlight + other.inFlight);
    }
  }

  /** The counts of one thread. */
  public static final class Local {
    private final String hop;
    private final long[] counts = new long[LENGTH];

    private @Nullable Thread owner; // set at its first count; for the assertion only

    private Local(String hop) {
      this.hop = hop;
    }

    public void received() {
      add(RECEIVED, 1);
    }

    public void received(long messages) {
      add(RECEIVED, messages);
    }

    public void delivered() {
      add(DELIVERED, 1);
    }

    public void delivered(long messages) {
      add(DELIVERED, messages);
    }

    public void returned() {
      add(RETURNED, 1);
    }

    public void dropped(DropReason reason) {
      dropped(reason, 1);
    }

    /** @param reason one that the hop {@linkplain DropReason#hops has} */
    public void dropped(DropReason reason, long messages) {
      assert reason.hops().contains(hop) : hop + " has no meter for " + reason;
      add(indexOf(reason), messages);
    }

    /**
     * Reads all counts, on the thread that counts.
     *
     * @param inFlight how many messages of this thread the hop holds now
     */
    public Reading reading(long inFlight) {
      assert ownedByCaller() : "read off its thread, which is " + owner;
      Map<DropReason, Long> dropped = new EnumMap<>(DropReason.class);
      for (DropReason reason : REASONS) dropped.put(reason, read(indexOf(reason)));
      return new Reading(hop, read(RECEIVED), read(DELIVERED), read(RETURNED), dropped, inFlight);
    }

    private void add(int index, long messages) {
      assert messages >= 0 : "counted back: " + messages;
      assert ownedByCaller() : "touched off its thread, which is " + owner;
      // One writer, so a plain read and an opaque write: no fence, no locked instruction, and no torn value for readers.
      COUNT.setOpaque(counts, index, counts[index] + messages);
    }

    private long read(int index) {
      return (long) COUNT.getOpaque(counts, index);
    }

    /** A new thread may take over the part of a thread that has ended: executors replace threads, and the last drops come at shutdown. */
    private boolean ownedByCaller() {
      Thread caller = Thread.currentThread();
      if (owner == null || !owner.isAlive()) owner = caller;
      return caller.equals(owner);
    }
  }
}
