package dunlin.tiers;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether all other nodes of a cluster have said that they know what something adds to logs and links. */
public final class Agreement {
  /*
   * Owner: any thread asks whether there is one. look() is called by the housekeeping thread; a thread of its own, one at a time, asks the other nodes.
   * Bounds: one such thread, and the ids of the other nodes; one that has left is forgotten. They are asked at the next look once another one has come, one has come up or gone down, or one has
   *   said so; else after a pause, which grows to PAUSE_MAX looks. Questions have their deadlines.
   * Failure: as long as a node has not said so, there is no agreement; the log says why, unless that changes from one question to the next, as while nodes start. What a node has said is
   *   believed until this node ends or that one has left, also while it is down. One that comes later ends the agreement until it has said so, too. Then the log has such entries already: a replica of an earlier
   *   version stops at the first one, and says so. A look that fails is logged, and the next one is another attempt.
   */
  static final int PAUSE_MAX = 32;
  private static final Logger log = LoggerFactory.getLogger(Agreement.class);

  private final String subject;
  private final Supplier<Optional<Set<String>>> others;
  private final Supplier<Optional<Set<String>>> present;
  private final Function<Set<String>, SequencedMap<String, String>> unready;
  private final Executor starter;

  private volatile boolean asking; // set by the housekeeping thread, and cleared by the asking thread once it has written what was said
  private volatile boolean reached; // written by the housekeeping thread
  private volatile Set<String> agreed = Set.of(); // the others that have said so; written by the asking thread

  // Used by the housekeeping thread.
  private Left left = Left.NONE;
  private int pause;
  private int looks;
  private String lookFailed = "";

  // Used by the asking thread, and by the next one.
  private volatile List<String> last = List.of();
  private volatile List<String> told = List.of();
  private volatile String failed = "";

  /**
   * Those that have not said so.
   *
   * @param present those of them that may be up
   */
  private record Left(Set<String> all, Set<String> present) {
    static final Left NONE = new Left(Set.of(), Set.of());
  }

  /**
   * @param subject for the log
   * @param others the ids of the other nodes, which must have said so, but for those that have left; empty while this node does not know them. Quick
   * @param present the same without those that are down
   * @param unready asks some of them; a sentence for each that has not said so, by its id
   */
  public Agreement(
      String subject, Supplier<Optional<Set<String>>> others, Supplier<Optional<Set<String>>> present, Function<Set<String>, SequencedMap<String, String>> unready) {
    this(subject, others, present, unready, task -> Thread.ofPlatform().daemon().name("dunlin-agreement").start(task));
  }

  /** @param starter runs a question on a thread that may block */
  Agreement(
      String subject,
      Supplier<Optional<Set<String>>> others,
      Supplier<Optional<Set<String>>> present,
      Function<Set<String>, SequencedMap<String, String>> unready,
      Executor starter) {
    this.subject = subject;
    this.others = others;
    this.present = present;
    this.unready = unready;
    this.starter = starter;
  }

  public boolean isReached() {
    return reached;
  }

  /** Takes over what other nodes have said, and asks those that have not said so, if that is due. Quick; throws nothing. */
  public void look() {
    try {
      others.get().ifPresent(this::compare);
      lookFailed = "";
    } catch (RuntimeException | OutOfMemoryError failure) { // the latter when no thread can be started; housekeeping looks no more after an exception
      if (!lookFailed.equals(failure.toString())) log.error("Whether all nodes know {} could not be looked at, and is looked at again", subject, failure);
      lookFailed = failure.toString();
    }
  }

  private void compare(Set<String> all) {
    boolean answered = !asking; // read before what was said, which is written before
    var missing = new HashSet<>(all);
    missing.removeAll(agreed);
    if (missing.isEmpty() != reached) change(all.size());
    if (missing.isEmpty()) left = Left.NONE;
    else if (answered && isDue(missing)) start(all, missing);
  }

  private void start(Set<String> all, Set<String> missing) {
    asking = true;
    try {
      starter.execute(() -> ask(all, missing));
    } catch (RuntimeException | OutOfMemoryError failure) {
      asking = false; // no thread has begun
      throw failure;
    }
  }

  private void change(int all) {
    reached = !reached;
    // The rows of build/chaos look for these words in the log.
    if (reached) log.info("All nodes know {}, which holds from now on ({} others)", subject, all);
    else log.info("A node has come that has not said that it knows {}, which does not hold until it has", subject);
  }

  private boolean isDue(Set<String> missing) {
    var up = new HashSet<>(missing);
    up.retainAll(present.get().orElse(Set.of()));
    var now = new Left(missing, up);
    if (!now.equals(left)) {
      left = now;
      pause = 1;
      looks = 1;
    }
    if (--looks > 0) return false;
    looks = pause;
    pause = Math.min(2 * pause, PAUSE_MAX);
    return true;
  }

  private void ask(Set<String> all, Set<String> of) {
    try {
      var not = unready.apply(of);
      var said = new HashSet<>(agreed);
      for (String node : of) if (!not.containsKey(node)) said.add(node);
      said.retainAll(all);
      agreed = Set.copyOf(said);
      say(List.copyOf(not.values()));
      failed = "";
    } catch (RuntimeException failure) {
      if (!failed.equals(failure.toString())) log.warn("Other nodes could not be asked whether they know {}, which does not hold yet", subject, failure);
      failed = failure.toString();
    } finally {
      asking = false;
    }
  }

  private void say(List<String> not) {
    if (!not.isEmpty() && not.equals(last) && !not.equals(told)) {
      told = not;
      log.warn("All nodes must have said that they know {} before it holds: {}", subject, String.join("; ", not));
    }
    last = not;
  }
}
