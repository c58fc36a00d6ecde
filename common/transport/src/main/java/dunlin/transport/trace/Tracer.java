package dunlin.transport.trace;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The traces of one node. Tiers note here what they do with messages. */
public final class Tracer {
  /*
   * Owner: any thread notes, without a lock as long as no trace follows the message. Threads of operators begin, end and find traces, under the lock; the
   * node's housekeeping ends those whose time is up.
   * Bounds: TRACES_MAX traces, those that have ended included: they can be read until KEPT after their time, or until a new trace needs the place. Each has the bounds of Trace,
   * so all of them have 16 MiB. One sample has a place beside them.
   */
  public static final int TRACES_MAX = 4;

  /** The longest time that a trace runs. */
  public static final Duration LONGEST = Duration.ofHours(1);

  private static final Duration KEPT = Duration.ofMinutes(30);

  /**
   * What follows messages until that changes.
   *
   * @param unconcerned the mark of messages that none of them concerns: this is found out once, by the first hop, and not by each hop on each thread
   */
  private record Running(List<Follower> followers, Object unconcerned) {}

  private final InstantSource wall;
  private final LongSupplier nanoTime;

  /** Those that run; null for none, so that the question of each hop is one read. Replaced under the lock. */
  private volatile @Nullable Running running;

  /** By their identifiers, the oldest first. */
  @GuardedBy("this")
  private final Map<String, Trace> all = new LinkedHashMap<>();

  @GuardedBy("this")
  private @Nullable MessageSample sample;

  @GuardedBy("this")
  private @Nullable SpanSampler spans;

  /** Of traces that are gone. */
  @GuardedBy("this")
  private long takenBefore;

  @GuardedBy("this")
  private long leftOutBefore;

  /**
   * @param wall the clock that events are stamped with
   * @param nanoTime a clock that never steps, in nanoseconds, by which traces end
   */
  public Tracer(InstantSource wall, LongSupplier nanoTime) {
    this.wall = wall;
    this.nanoTime = nanoTime;
  }

  /** A tracer for a tier that no operator looks at. */
  public static Tracer idle() {
    return new Tracer(InstantSource.system(), System::nanoTime);
  }

  // --------------------------------------------------------------------------------------------------------------- for the tiers

  /** Whether a trace runs, or spans are sampled. Any thread; the one thing that a hop pays for when none does. */
  public boolean runs() {
    return running != null;
  }

  /** Whether a trace that runs follows a message. */
  public boolean follows(Publication message, Trace.@Nullable Party party) {
    Running present = running;
    if (present == null || message.isPassedOver(present.unconcerned)) return false;
    boolean concerned = false;
    for (Follower each : present.followers) {
      if (!each.concerns(message)) continue;
      if (each.meets(message, party)) return true;
      concerned = true;
    }
    if (!concerned) message.passOver(present.unconcerned);
    return false;
  }

  /**
   * Notes what a hop did with a message, in the traces that follow it. Any thread; waits for nothing but a reader who copies references.
   *
   * @param hop as the counters of drops name it
   * @param reason of the step; empty for none
   * @param party the publisher where the message comes in, else the subscriber; null when there is none or it is not known
   */
  public void note(String hop, Trace.Step step, String reason, Publication message, Trace.@Nullable Party party) {
    Running present = running;
    if (present == null || message.isPassedOver(present.unconcerned)) return;
    boolean concerned = false;
    for (Follower each : present.followers) {
      if (!each.concerns(message)) continue;
      concerned = true;
      if (each.meets(message, party)) each.add(hop, step, reason, message, party == null ? "" : party.clientId());
    }
    if (!concerned) message.passOver(present.unconcerned);
  }

  // ------------------------------------------------------------------------------------------------------------ for operators

  /**
   * Begins a trace of messages that meet all criteria; at least one besides the tenant is to be given. One with the same identifier that is there already is left
   * as it is.
   *
   * @param tenant of publisher and subscribers
   * @param client client identifier of the publisher or, at the hops behind the routes, of the subscriber; empty for any
   * @param topic a topic filter, not a shared subscription; empty for any topic
   * @param address IP address that the client's connection comes from; empty for any
   * @param lasting more than zero, at most {@link #LONGEST}
   * @throws IllegalArgumentException if that is not so
   * @throws IllegalStateException when there are {@link #TRACES_MAX} that run
   */
  public synchronized Trace begin(String id, String tenant, String client, String topic, String address, Duration lasting) {
    var criteria = new TraceCriteria(tenant, client, topic, address);
    checkLength(lasting);
    Trace present = all.get(id);
    if (present != null) return present;
    if (all.size() == TRACES_MAX && !removeOldestEnded()) throw new IllegalStateException("%d traces run already; stop one of them".formatted(TRACES_MAX));
    Trace made = made(id, criteria, lasting);
    all.put(id, made);
    publish();
    return made;
  }

  private static void checkLength(Duration lasting) {
    if (!lasting.isPositive() || lasting.compareTo(LONGEST) > 0) throw new IllegalArgumentException("a trace runs for up to %d minutes".formatted(LONGEST.toMinutes()));
  }

  private Trace made(String id, TraceCriteria criteria, Duration lasting) {
    return new Trace(id, criteria, wall, lasting.toMillis(), nanoTime.getAsLong() + lasting.toNanos());
  }

  private synchronized boolean removeOldestEnded() {
    Iterator<Trace> each = all.values().iterator();
    while (each.hasNext()) {
      Trace next = each.next();
      if (next.running()) continue;
      each.remove();
      forget(next);
      return true;
    }
    return false;
  }

  private synchronized void forget(Trace gone) {
    takenBefore += gone.taken();
    leftOutBefore += gone.leftOut();
  }

  private synchronized void publish() {
    List<Follower> present = new ArrayList<>();
    for (Trace each : all.values()) if (each.running()) present.add(each);
    if (sample != null) present.add(sample);
    if (spans != null) present.add(spans);
    running = present.isEmpty() ? null : new Running(List.copyOf(present), new Object());
  }

  /** Ends a trace, whose events can still be read; false if there is none that runs. */
  public synchronized boolean end(String id) {
    Trace found = all.get(id);
    if (found == null || !found.running()) return false;
    found.end();
    publish();
    return true;
  }

  /**
   * Begins a sample of the messages of a tenant, whose topics do not begin with $. To be ended by {@link #endSample}.
   *
   * @param lasting when it ends by itself, as of traces
   * @throws IllegalStateException when there is a sample already
   */
  public MessageSample beginSample(String tenant, Duration lasting) {
    return beginSample(tenant, lasting, new SplittableRandom());
  }

  synchronized MessageSample beginSample(String tenant, Duration lasting, RandomGenerator random) {
    if (sample != null) throw new IllegalStateException("another sample is being taken; ask again in a few seconds");
    checkLength(lasting);
    MessageSample made = new MessageSample(new TraceCriteria(tenant, "", "#", ""), random, nanoTime.getAsLong() + lasting.toNanos());
    sample = made;
    publish();
    return made;
  }

  /** Ends a sample and forgets it; those who have begun it can still read it. Does nothing if it has ended. */
  public synchronized void endSample(MessageSample begun) {
    if (sample != begun) return;
    sample = null;
    publish();
  }

  /** Lets messages be sampled for spans from now on, beside all traces. Called once at most. */
  public synchronized void sample(SpanSampler sampler) {
    spans = sampler;
    publish();
  }

  /** Ends traces whose time is up, and forgets those that ended long ago; called about once a second. */
  public synchronized void endDue() {
    long now = nanoTime.getAsLong();
    if (sample != null && sample.isDue(now)) endSample(sample);
    if (all.values().stream().noneMatch(each -> each.isDue(now))) return;
    for (Trace each : all.values()) if (each.isDue(now)) each.end();
    List<Trace> old = all.values().stream().filter(each -> each.isDue(now - KEPT.toNanos())).toList();
    for (Trace each : old) {
      all.remove(each.id());
      forget(each);
    }
    publish();
  }

  /** Those that run and those that have ended, the oldest first; without the sample. */
  public synchronized List<Trace> all() {
    return new ArrayList<>(all.values());
  }

  public synchronized Optional<Trace> find(String id) {
    return Optional.ofNullable(all.get(id));
  }

  /** How many traces run, the sample included. */
  public synchronized int count() {
    return (int) all.values().stream().filter(Trace::running).count() + (sample == null ? 0 : 1);
  }

  /** How many events all traces have taken since the start. */
  public synchronized long taken() {
    return takenBefore + all.values().stream().mapToLong(Trace::taken).sum();
  }

  /** How many events all traces have left out since the start because there were too many in a second. */
  public synchronized long leftOut() {
    return leftOutBefore + all.values().stream().mapToLong(Trace::leftOut).sum();
  }
}
