package dunlin.transport.trace;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** One trace on this node, with its last events. */
public final class Trace {
  /*
   * Owner: any thread notes events, mostly event loops; threads of operators read. Both hold the lock for a few operations.
   * Bounds: EVENTS_MAX events of BYTES_MAX bytes. Full: the oldest gives way, and a reader who comes too late is told how many are missing. EVENTS_A_SECOND
   * events are taken in each second, so that a trace of everything does not slow the node down. The rest of a second is left out and counted, before anything
   * is made of it; so what is taken has no gaps but at ends of seconds.
   */
  static final int EVENTS_MAX = 10_000;
  static final long BYTES_MAX = 4 << 20;
  static final int EVENTS_A_SECOND = 2_000;

  private final String id;
  private final TraceCriteria criteria;
  private final TraceCriteria.Question question;
  private final InstantSource wall;
  private final long begunAtMillis;
  private final long endsAtMillis;
  private final long endsAtNanos;

  private final AtomicLong second = new AtomicLong();
  private final AtomicInteger inSecond = new AtomicInteger();
  private final LongAdder leftOut = new LongAdder();

  private volatile boolean running = true; // written by the tracer, under its lock

  /** An event is at the remainder of its number. */
  @GuardedBy("this")
  private final @Nullable TraceEvent[] ring = new TraceEvent[EVENTS_MAX];

  @GuardedBy("this")
  private long bytes;

  /** The number of the oldest event that is there. */
  @GuardedBy("this")
  private long first;

  /** How many events were taken, which is the number of the next one. */
  @GuardedBy("this")
  private long taken;

  Trace(String id, TraceCriteria criteria, InstantSource wall, long millis, long endsAtNanos) {
    this.id = id;
    this.criteria = criteria;
    this.question = criteria.question();
    this.wall = wall;
    this.begunAtMillis = wall.millis();
    this.endsAtMillis = begunAtMillis + millis;
    this.endsAtNanos = endsAtNanos;
  }

  /**
   * A part of the events.
   *
   * @param next the number of the event behind them
   * @param lost how many before them have given way already
   * @param leftOut how many were left out since the beginning because there were too many in a second
   */
  public record Part(List<TraceEvent> events, long next, long lost, long leftOut) {
    public Part {
      events = List.copyOf(events);
    }
  }

  public String id() {
    return id;
  }

  public TraceCriteria criteria() {
    return criteria;
  }

  /** Milliseconds since 1970. */
  public long begunAtMillis() {
    return begunAtMillis;
  }

  /** When it ends, unless it is ended before; milliseconds since 1970. */
  public long endsAtMillis() {
    return endsAtMillis;
  }

  public boolean running() {
    return running;
  }

  void end() {
    running = false;
  }

  boolean isDue(long nanos) {
    return nanos - endsAtNanos >= 0;
  }

  boolean follows(Publication message, @Nullable Party party) {
    return question.meets(message, party) && question.concerns(message);
  }

  /** Whether publisher or client at the hop meet the criteria, whatever the topic. */
  boolean meets(Publication message, @Nullable Party party) {
    return question.meets(message, party);
  }

  /** Whether topic and tenant meet the criteria, whatever the client at the hop. */
  boolean concerns(Publication message) {
    return question.concerns(message);
  }

  void add(String hop, TraceStep step, String reason, Publication message, String client) {
    Instant now = wall.instant();
    if (!admits(now.getEpochSecond())) {
      leftOut.increment();
      return;
    }
    TraceEvent event = TraceEvent.of(ChronoUnit.MICROS.between(Instant.EPOCH, now), hop, step, reason, message, client);
    synchronized (this) {
      if (taken - first == EVENTS_MAX) giveWay();
      ring[place(taken++)] = event;
      bytes += event.bytes();
      while (bytes > BYTES_MAX) giveWay();
    }
  }

  private static int place(long number) {
    return (int) (number % EVENTS_MAX);
  }

  private synchronized void giveWay() {
    int place = place(first++);
    bytes -= requireNonNull(ring[place]).bytes();
    ring[place] = null;
  }

  private boolean admits(long present) {
    long before = second.get();
    if (before != present && second.compareAndSet(before, present)) inSecond.set(0);
    // Once it is full it is only read, so that loops do not write to the same place for each event.
    return inSecond.get() < EVENTS_A_SECOND && inSecond.incrementAndGet() <= EVENTS_A_SECOND;
  }

  /** How many events were taken so far. */
  public synchronized long taken() {
    return taken;
  }

  /** How many events were left out because there were too many in a second. */
  public long leftOut() {
    return leftOut.sum();
  }

  /**
   * The first events from a number on.
   *
   * @param from of the first one, from 0; more than there were is as many as there were
   * @param max the most events
   */
  public synchronized Part read(long from, int max) {
    long begin = Math.clamp(from, first, taken);
    long lost = Math.clamp(first - from, 0, first);
    long end = begin + Math.min(max, taken - begin);
    List<TraceEvent> part = new ArrayList<>();
    for (long number = begin; number < end; number++) part.add(requireNonNull(ring[place(number)]));
    return new Part(part, end, lost, leftOut());
  }
}
