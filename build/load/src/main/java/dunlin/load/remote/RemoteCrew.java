package dunlin.load.remote;

import dunlin.load.client.Sent;
import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.count.Meters;
import dunlin.load.count.Snapshot;
import dunlin.load.count.WallClock;
import dunlin.load.engine.Crew;
import dunlin.load.engine.WorkerState;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Share;
import dunlin.load.plan.Step;
import dunlin.load.plan.StreamNumbers;
import dunlin.load.plan.Subscribing;
import dunlin.load.remote.WorkerLink.Offset;
import dunlin.load.remote.wire.Wire;
import dunlin.load.remote.wire.Wire.FromWorker.KindCase;
import dunlin.load.scenario.Scenarios;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Clients in workers, each with a share of them. */
public final class RemoteCrew implements Crew {
  /*
   * Owner: the run's thread, which calls the workers one after the other.
   * Bounds: Share.SHARES_MAX workers; the record of sent messages of each, by WorkerSession.SENT_BYTES_MAX; GroupUnion.
   * The end of a step may take STOP_NANOS_MAX, an answer at the end END_MILLIS_MAX, the end of the workers' runs
   * HANG_UP_NANOS_MAX. A worker that is silent for SILENCE_NANOS_MAX is lost.
   * Failure: until all workers are ready, one that fails ends the run. Later a failed worker is lost and reported, and
   * the others go on. The run ends when no worker is left.
   */
  static final long END_MILLIS_MAX = 300_000;
  private static final long READY_MILLIS_MAX = 120_000;
  private static final long LEAD_MICROS = 50_000;
  private static final long SILENCE_NANOS_MAX = 20_000_000_000L;
  private static final long STOP_NANOS_MAX = 30_000_000_000L;
  private static final long HANG_UP_NANOS_MAX = 10_000_000_000L;
  private static final long POLL_MILLIS = 5;
  private static final long ERROR_MICROS_MAX = 1_000;

  private final Plan plan;
  private final Audience audience;
  private final StreamNumbers numbers;
  private final WallClock clock = new WallClock();
  private final List<WorkerLink> links = new ArrayList<>();
  private final Map<WorkerLink, Offset> offsets = new HashMap<>();

  private Histogram deliveries = Meters.newHistogram();
  private long roundTripMicros;

  /** The job of the workers. */
  public record Job(Scenarios.Source scenario, Map<String, String> variables, int loops, boolean force) {
    public Job {
      variables = Map.copyOf(variables);
    }
  }

  /**
   * Connects to the workers, compares clocks, and lets them create their clients.
   *
   * @param warnings receives warnings about limits of a worker's machine
   */
  public RemoteCrew(Plan plan, Audience audience, List<Endpoint> workers, WorkerSecurity security, Job job, Consumer<String> warnings) {
    this.plan = plan;
    this.audience = audience;
    numbers = new StreamNumbers(plan);
    try {
      for (int i = 0; i < workers.size(); i++) links.add(new WorkerLink(workers.get(i), new Share(i, workers.size()), security));
      int run = (int) (clock.micros() / 1_000 ^ ProcessHandle.current().pid() * 31) & 0xFFFF;
      each(WorkerLink::greet);
      each(link -> offsets.put(link, link.compare(clock)));
      roundTripMicros = offsets.values().stream().mapToLong(Offset::roundTripMicros).max().orElse(0);
      each(link -> link.send(order(link, job, run)));
      each(link -> {
        Wire.Ready ready = link.next(READY_MILLIS_MAX, KindCase.READY).getReady();
        for (String finding : ready.getFindingsList()) warnings.accept(link.name() + ": " + finding);
      });
    } catch (RuntimeException failure) {
      close();
      throw failure;
    }
  }

  private Wire.FromDirector order(WorkerLink link, Job job, int run) {
    Offset offset = offsets.getOrDefault(link, new Offset(0, 0, 0));
    return Wire.FromDirector.newBuilder()
        .setOrder(
            Wire.Order.newBuilder()
                .setRun(run)
                .setShare(link.share().index())
                .setShares(link.share().of())
                .setFile(job.scenario().file())
                .setScenario(job.scenario().text())
                .putAllVariables(job.variables())
                .setClockCorrectionMicros(-offset.micros())
                .setForce(job.force())
                .setLoops(job.loops()))
        .build();
  }

  private interface Doing {
    void accept(WorkerLink link) throws LostException;
  }

  /** Runs an action on each worker before the run, which does not begin when one fails. */
  private void each(Doing doing) {
    for (WorkerLink link : links) {
      surviving(link, () -> doing.accept(link));
      String why = link.lost();
      if (why != null) throw new IllegalArgumentException("%s %s".formatted(link.name(), why));
    }
  }

  private List<WorkerLink> alive() {
    List<WorkerLink> alive = links.stream().filter(link -> link.lost() == null).toList();
    if (alive.isEmpty()) throw new IllegalStateException("all workers are lost: " + String.join("; ", missing()));
    return alive;
  }

  // ---- steps

  @Override
  public void begin(int number, Step step) {
    long start = clock.micros() + LEAD_MICROS + 2 * roundTripMicros;
    for (WorkerLink link : alive()) link.begin(number, start);
  }

  @Override
  public void poll() {
    for (WorkerLink link : links) link.poll(deliveries, SILENCE_NANOS_MAX);
    var _ = alive();
  }

  @Override
  public boolean isBusy() {
    poll();
    return links.stream().anyMatch(WorkerLink::isBusy);
  }

  @Override
  public void stopTasks() {
    for (WorkerLink link : alive()) link.stop();
    long end = System.nanoTime() + STOP_NANOS_MAX;
    while (true) {
      poll();
      if (links.stream().allMatch(WorkerLink::isStopped)) return;
      if (System.nanoTime() - end > 0) break;
      pause();
    }
    for (WorkerLink link : links) if (!link.isStopped()) link.lose("did not end a phase");
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupt);
    }
  }

  @Override
  public long get(Count count) {
    return links.stream().mapToLong(link -> link.counted().get(count)).sum();
  }

  @Override
  public Snapshot counted() {
    return links.stream().map(WorkerLink::counted).reduce(Snapshot.EMPTY, Snapshot::plus);
  }

  @Override
  public List<WorkerState> workers() {
    return links.stream().map(WorkerLink::state).toList();
  }

  @Override
  public Histogram deliveries() {
    poll();
    Histogram since = deliveries;
    deliveries = Meters.newHistogram();
    return since;
  }

  // ---- the end

  @Override
  public Ending end() {
    for (WorkerLink link : links) link.send(Wire.FromDirector.newBuilder().setEnd(true).build());
    var all = new HashMap<Integer, Sent>();
    var chunks = new HashMap<WorkerLink, List<Wire.Sent>>();
    for (WorkerLink link : links) surviving(link, () -> chunks.put(link, sent(link, all)));
    for (WorkerLink link : links) {
      chunks.forEach((other, parts) -> {
        if (other != link) for (Wire.Sent part : parts) link.send(Wire.FromDirector.newBuilder().setSent(part).build());
      });
      link.send(Wire.FromDirector.newBuilder().setSentAll(true).build());
    }
    var groups = new GroupUnion(numbers, audience.groups());
    var endings = new HashMap<WorkerLink, Ending>();
    for (WorkerLink link : links) surviving(link, () -> endings.put(link, result(link, groups)));
    var errors = new ArrayList<Long>();
    for (WorkerLink link : links) surviving(link, () -> errors.add(error(link)));
    var _ = alive();
    return sum(endings, groups, all, errors);
  }

  private interface Asking {
    void run() throws LostException;
  }

  private static void surviving(WorkerLink link, Asking asking) {
    if (link.lost() != null) return;
    try {
      asking.run();
    } catch (LostException lost) {
      link.lose(lost.why());
    }
  }

  /** The record of one worker's sent messages; returned in its wire form to be passed on. */
  private List<Wire.Sent> sent(WorkerLink link, Map<Integer, Sent> all) throws LostException {
    var parts = new ArrayList<Wire.Sent>();
    var streams = new HashMap<Integer, Sent>();
    long bytes = 0;
    while (true) {
      Wire.FromWorker message = link.next(END_MILLIS_MAX, KindCase.SENT, KindCase.SENT_ALL);
      if (message.getKindCase() == KindCase.SENT_ALL) break;
      bytes += message.getSerializedSize();
      if (bytes > WorkerSession.SENT_BYTES_MAX) throw new LostException("says more of streams than the director holds");
      for (Wire.SentStream form : message.getSent().getStreamsList()) {
        Sent stream = WireForm.sent(form, numbers);
        if (!link.share().has(numbers.place(stream.stream()).client())) throw new LostException("speaks of a stream that is not its own");
        streams.put(stream.stream(), stream);
      }
      parts.add(message.getSent());
    }
    all.putAll(streams);
    return parts;
  }

  private static Ending result(WorkerLink link, GroupUnion groups) throws LostException {
    while (true) {
      Wire.FromWorker message = link.next(END_MILLIS_MAX, KindCase.GROUP, KindCase.RESULT);
      if (message.getKindCase() == KindCase.RESULT) return WireForm.ending(message.getResult());
      groups.add(message.getGroup());
    }
  }

  /**
   * The possible error of a worker's times: the error of the correction at the start or the offset that remains now,
   * whichever is larger.
   */
  private long error(WorkerLink link) throws LostException {
    Offset before = offsets.getOrDefault(link, new Offset(0, 0, 0));
    Offset now = link.compare(clock);
    return Math.max(before.errorMicros(), Math.abs(now.micros()) + now.errorMicros());
  }

  private Ending sum(Map<WorkerLink, Ending> endings, GroupUnion groups, Map<Integer, Sent> sent, List<Long> errors) {
    var snapshot = Snapshot.EMPTY;
    var tally = new Tally(new long[3], List.of());
    double cpu = 0;
    var warnings = new ArrayList<String>();
    for (WorkerLink link : links) {
      Ending ending = endings.get(link);
      if (ending == null || link.lost() != null) continue;
      snapshot = snapshot.plus(ending.snapshot());
      tally = tally.plus(ending.tally());
      cpu += ending.cpuSeconds();
      for (String warning : ending.warnings()) warnings.add("%s: %s".formatted(link.name(), warning));
    }
    snapshot = groups.withDoubled(snapshot, audience);
    tally = tally.plus(groups.tally(audience, sent, incompleteGroups()));
    // A time between two workers has both errors.
    errors.sort(Collections.reverseOrder());
    long error = errors.getFirst() + (errors.size() > 1 ? errors.get(1) : 0);
    String clocks = String.format(Locale.ROOT, "Times between workers are corrected by their clocks, and may be wrong by %.3f ms.", error / 1e3);
    if (error > ERROR_MICROS_MAX) warnings.add(clocks);
    return new Ending(snapshot, tally, cpu, warnings, List.of("%d of %d workers. %s".formatted(endings.size(), links.size(), clocks)), missing());
  }

  /** Groups with members in a lost worker, whose messages are unknown. */
  private Set<String> incompleteGroups() {
    var incomplete = new HashSet<String>();
    for (WorkerLink link : links) {
      if (link.lost() == null) continue;
      for (Pool pool : plan.pools()) {
        if (pool.subscriptions().stream().noneMatch(Subscribing::isShared)) continue;
        for (int place = 0; place < link.share().size(pool.clients()); place++) {
          incomplete.add(pool.filter(0, pool.who(link.share().client(place))));
        }
      }
    }
    return incomplete;
  }

  /** The lost workers with their shares. */
  private List<String> missing() {
    var missing = new ArrayList<String>();
    for (WorkerLink link : links) {
      @Nullable String why = link.lost();
      if (why == null) continue;
      var clients = new ArrayList<String>();
      for (Pool pool : plan.pools()) clients.add(String.format(Locale.ROOT, "%,d of %s", link.share().size(pool.clients()), pool.name()));
      missing.add("%s (share %s: %s) %s".formatted(link.name(), link.shareName(), String.join(", ", clients), why));
    }
    return missing;
  }

  /** Returns when the workers are free for the next run, but for those that do not end this one in time. */
  @Override
  public void close() {
    for (WorkerLink link : links) link.hangUp();
    long end = System.nanoTime() + HANG_UP_NANOS_MAX;
    for (WorkerLink link : links) link.awaitEnd(end);
  }
}
