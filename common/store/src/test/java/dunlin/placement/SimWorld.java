package dunlin.placement;

import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.UUID;

/** Virtual time, a network that loses, repeats, delays and reorders messages, and nodes that crash: all from one seed. */
final class SimWorld {
  /*
   * Owner: one thread. Everything that happens is an event of the queue, so a seed gives the same run each time.
   */
  static final int NODES = 5;
  static final int META = 3;
  static final long FAULTS_UNTIL = 15_000;
  static final long STUCK_AFTER = 90_000;

  private record Event(long at, long number, Runnable what) {}

  /** A node died in the middle of what it was doing. */
  static final class Crashed extends RuntimeException {}

  final Random random;
  final Rules rules;
  final OperationSettings settings;
  final List<SimNode> nodes = new ArrayList<>();
  final Map<UUID, SimGroup> groups = new LinkedHashMap<>();
  final SimMeta meta;
  final SimChecks checks;
  final List<String> trace = new ArrayList<>();
  final boolean tracing;

  /** Whether disks have no room at times. Half of the seeds are without, so that what else is found in them stays as it was. */
  final boolean disksFill;

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::number));
  private final int lateOnceIn; // one in so many messages

  private long eventNumber;
  private long now;

  SimWorld(long seed, Rules rules, boolean tracing) {
    this.random = new Random(seed * 0x9E3779B97F4A7C15L);
    this.rules = rules;
    this.tracing = tracing;
    this.disksFill = seed % 2 == 1;
    this.settings =
        new OperationSettings(
            3, 8, 4, 3, splits(), random.nextInt(3) == 0 ? Duration.ofSeconds(4) : null, random.nextBoolean());
    this.lateOnceIn = random.nextInt(4) == 0 ? 4 : 20;
    this.checks = new SimChecks(this);
    for (int i = 0; i < NODES; i++) nodes.add(new SimNode(this, i));
    this.meta = new SimMeta(this);
  }

  private SplitSettings splits() {
    if (random.nextInt(3) > 0) return SplitSettings.never();
    return new SplitSettings(20, random.nextBoolean() ? 4 : 0, 8, 1 + random.nextInt(2), 8);
  }

  long millis() {
    return now;
  }

  Duration now() {
    return Duration.ofMillis(now);
  }

  boolean faulty() {
    return now < FAULTS_UNTIL;
  }

  /** A random event, one in so many times, and never once the faults have stopped. */
  boolean fault(int onceIn) {
    return random.nextInt(onceIn) == 0 && faulty();
  }

  void after(long delay, Runnable what) {
    events.add(new Event(now + delay, eventNumber++, what));
  }

  /** Repeats for ever, not quite regularly. */
  void every(long period, Runnable what) {
    after(
        1 + random.nextLong(2 * period),
        () -> {
          what.run();
          every(period, what);
        });
  }

  /** Sends a message to a node. It may arrive late, twice or never; messages to a node that is down are lost. */
  void send(SimNode to, Runnable what) {
    int copies = fault(12) ? 0 : fault(12) ? 2 : 1;
    for (int i = 0; i < copies; i++) after(delay(), () -> to.whileUp(what));
  }

  /** Sends a message to a client or operator, which never crash. */
  void reply(Runnable what) {
    if (!fault(12)) after(delay(), what);
  }

  private long delay() {
    return fault(lateOnceIn) ? 500 + random.nextInt(6000) : 1 + random.nextInt(20);
  }

  SimNode node(UUID id) {
    return nodes.stream().filter(node -> node.id.equals(id)).findFirst().orElseThrow();
  }

  SimGroup group(UUID id) {
    var group = groups.get(id);
    if (group == null) throw new AssertionError("no group " + id);
    return group;
  }

  void trace(String what) {
    if (tracing) trace.add(now + " " + what);
  }

  /** Runs events up to a time. */
  void run(long until) {
    while (!events.isEmpty() && events.peek().at <= until) {
      var event = events.poll();
      now = event.at;
      event.what.run();
      checks.afterEachStep();
    }
    now = until;
  }
}
