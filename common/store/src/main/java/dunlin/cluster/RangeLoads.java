package dunlin.cluster;

import dunlin.cluster.LocalReplicas.Hosted;
import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.CutIs;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ThreadEnd;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.plan.CutChoice;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Measures the size and load of the ranges that this node leads, once for each heartbeat. */
final class RangeLoads {
  /*
   * Owner: a thread of its own, since measuring may wait for the disk and a heartbeat must not; any thread reads the outcome.
   * Bounds: one outcome for each replica of this node, and QUESTIONS_MAX that wait for an answer. Full: one more is refused.
   * Failure: a range that cannot be measured has no load until the next time.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeLoads.class);
  private static final int QUESTIONS_MAX = 16;
  private static final int CUT_SECONDS = 8;

  /** Where can a range be split? */
  private record Question(UUID range, CompletableFuture<ClusterAnswer> answer) {}

  /** A measured load; valid only for this epoch and term. */
  private record Measured(long epoch, long term, Load load) {}

  private final UUID self;
  private final LocalReplicas replicas;
  private final SplitSettings limits;
  private final long periodNanos;
  private final Thread thread;
  private final Map<UUID, Measured> outcomes = new ConcurrentHashMap<>();
  private final Map<UUID, LeaderLoad> led = new HashMap<>();
  private final BlockingQueue<Question> questions = new ArrayBlockingQueue<>(QUESTIONS_MAX);
  private volatile boolean closed;

  RangeLoads(String threadName, UUID self, LocalReplicas replicas, SplitSettings limits, Duration period) {
    this.self = self;
    this.replicas = replicas;
    this.limits = limits;
    periodNanos = period.toNanos();
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** The range's load as measured with its current keys and by the leader of this term. */
  Load of(RangeDescriptor range, long term, long unflushed) {
    var known = outcomes.get(range.id());
    if (known == null || known.epoch != range.epoch() || known.term != term) return Load.unmeasured(unflushed);
    var load = known.load;
    return new Load(
        load.bytes(), unflushed, load.operationsPerSecond(), load.middle(), load.busiest(), load.indivisible());
  }

  /**
   * A key at which a range that this node leads can be split: with about half of its bytes below it, or else half of what was written in the last seconds.
   * Looked for now; waits for it.
   */
  ClusterAnswer cut(UUID of) {
    var question = new Question(of, new CompletableFuture<>());
    if (!questions.offer(question)) return new Refused("node " + self + " looks for " + QUESTIONS_MAX + " other cuts already");
    LockSupport.unpark(thread);
    try {
      return question.answer.get(CUT_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException | ExecutionException e) {
      return new Refused("node " + self + " has not found a cut of range " + of + " in time");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Refused("node " + self + " was interrupted");
    }
  }

  private void answerQuestions() {
    for (var question = questions.poll(); question != null; question = questions.poll()) question.answer.complete(found(question.range));
  }

  private ClusterAnswer found(UUID of) {
    var replica = replicas.find(of).map(Hosted::replica).filter(here -> here.leader().filter(self::equals).isPresent()).orElse(null);
    var range = replica == null ? null : replica.descriptor().orElse(null);
    if (replica == null || range == null) return new Refused("node " + self + " does not lead range " + of);
    try {
      var choice = new CutChoice(range.keys(), replicas.together(range.kind()));
      var load = replica.load();
      var cut = LeaderLoad.middle(load, range.keys(), choice, load.bytes(range.keys())).or(() -> choice.byLoad(load.writtenLately()));
      return cut.<ClusterAnswer>map(CutIs::new).orElseGet(() -> new Refused("range " + of + " has too few rows, or rows that must be kept together"));
    } catch (StoreException e) {
      return new Refused(String.valueOf(e.getMessage())); // it is being closed
    } catch (RuntimeException e) { // an exception would end the measurements for good
      log.error("Range {} cannot be measured", of, e);
      return new Refused("range " + of + " cannot be measured; the log of node " + self + " says why");
    }
  }

  private void run() {
    while (!closed) {
      for (var hosted : replicas.all()) {
        if (closed) return;
        try {
          measure(hosted);
        } catch (StoreException e) {
          outcomes.remove(hosted.replica().id().uuid());
          log.debug("Range {} is not measured: {}", hosted.replica().id(), e.getMessage()); // it is being closed
        } catch (RuntimeException e) { // an exception would end the measurements for good
          outcomes.remove(hosted.replica().id().uuid());
          if (!closed) log.error("Range {} cannot be measured", hosted.replica().id(), e);
        }
      }
      outcomes.keySet().removeIf(range -> replicas.find(range).isEmpty());
      led.keySet().removeIf(range -> replicas.find(range).isEmpty());
      long until = System.nanoTime() + periodNanos;
      do {
        answerQuestions();
        LockSupport.parkNanos(this, Math.max(1, until - System.nanoTime()));
      } while (!closed && until - System.nanoTime() > 0);
    }
  }

  private void measure(Hosted hosted) {
    var range = hosted.replica().descriptor().orElse(null);
    var status = hosted.replica().status();
    var id = hosted.note().range().id();
    if (range == null || status.leader().filter(self::equals).isEmpty()) {
      led.remove(id);
      outcomes.remove(id);
      return;
    }
    var known = led.get(id);
    if (known == null || !known.isOf(range.epoch(), status.term())) {
      known = new LeaderLoad(range.epoch(), status.term(), range.keys(), replicas.together(range.kind()), limits);
      led.put(id, known);
    }
    var load = known.measure(hosted.replica().load(), System.nanoTime());
    outcomes.put(id, new Measured(range.epoch(), status.term(), load));
  }

  /** Stops after the measurement in progress. */
  void stop() {
    closed = true;
    LockSupport.unpark(thread);
  }

  boolean ended(long untilNanos) throws InterruptedException {
    return ThreadEnd.by(untilNanos, thread);
  }
}
