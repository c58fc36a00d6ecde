package dunlin.tiers;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether all other nodes of a cluster have said that they know what something adds to logs and links. */
public final class Agreement {
  /*
   * Owner: any thread asks whether there is one. look() is called by the housekeeping thread; a thread of its own, one at a time, asks the other nodes.
   * Bounds: one such thread, and the ids of the other nodes. They are asked at the next look once another one has come, or one has said so; else after a pause, which grows to PAUSE_MAX looks.
   *   Questions have their deadlines.
   * Failure: as long as a node has not said so, there is no agreement; the log says why, unless that changes from one question to the next, as while nodes start. What a node has said is
   *   believed until this node ends, also while it is down. One that comes later ends the agreement until it has said so, too. Then the log has such entries already: a replica of an earlier
   *   version stops at the first one, and says so.
   */
  static final int PAUSE_MAX = 32;
  private static final Logger log = LoggerFactory.getLogger(Agreement.class);

  private final String subject;
  private final Supplier<Optional<Set<String>>> others;
  private final Function<Set<String>, SequencedMap<String, String>> unready;

  private volatile boolean asking; // set by the housekeeping thread, and cleared by the asking thread
  private volatile boolean reached; // written by the housekeeping thread
  private volatile Set<String> agreed = Set.of(); // the others that have said so; written by the asking thread

  // Used by the housekeeping thread.
  private Set<String> left = Set.of();
  private int pause;
  private int looks;

  // Used by the asking thread, and by the next one.
  private volatile List<String> last = List.of();
  private volatile List<String> told = List.of();
  private volatile String failed = "";

  /**
   * @param subject for the log
   * @param others the ids of the other nodes that must have said so; empty while this node does not know them. Quick
   * @param unready asks some of them; a sentence for each that has not said so, by its id
   */
  public Agreement(String subject, Supplier<Optional<Set<String>>> others, Function<Set<String>, SequencedMap<String, String>> unready) {
    this.subject = subject;
    this.others = others;
    this.unready = unready;
  }

  public boolean isReached() {
    return reached;
  }

  /** Takes over what other nodes have said, and asks those that have not said so, if that is due. Quick; throws nothing. */
  public void look() {
    others.get().ifPresent(this::compare);
  }

  private void compare(Set<String> all) {
    var missing = new HashSet<>(all);
    missing.removeAll(agreed);
    if (missing.isEmpty() != reached) change(all.size());
    if (missing.isEmpty() || asking || !isDue(missing)) return;
    asking = true;
    Thread.ofPlatform().daemon().name("dunlin-agreement").start(() -> ask(all, missing));
  }

  private void change(int all) {
    reached = !reached;
    if (reached) log.info("All nodes know {}, which holds from now on ({} others)", subject, all);
    else log.info("A node has come that has not said that it knows {}, which does not hold until it has", subject);
  }

  private boolean isDue(Set<String> missing) {
    if (!missing.equals(left)) {
      left = missing;
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
      said.addAll(of);
      said.removeAll(not.keySet());
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
