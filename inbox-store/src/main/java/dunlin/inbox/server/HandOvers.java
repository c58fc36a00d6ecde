package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.between.OtherRange.GroupPart;
import dunlin.inbox.between.OtherRange.SetAside;
import dunlin.inbox.between.OtherRange.Taken;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Transfer;
import dunlin.model.Publication;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands messages that wait in a group of one range over to members in other ranges, which other nodes may lead; MQTT 5, section 4.8.2.
 * {@link dunlin.inbox.range.Transfers} describes the steps in the ranges.
 */
final class HandOvers {
  /*
   * A range reports each group with waiting messages that none of its members takes. The group stays noted until no
   * such message waits. The other ranges are asked for their parts of it; when one has a member with room, a transfer begins. A transfer in progress, also from
   * before a restart, is continued from its rows. If a group has lost its last member in a range, its messages go to
   * any range that has members, and are dropped if none has.
   *
   * Other nodes may answer late, and so may a leader that was replaced. So a target remembers the number of a transfer until the source range has said LOOKS times
   * that it is over, and messages are dropped when all ranges have gone on saying as long that they have no member.
   *
   * Owner: any thread, under this object's lock, which is not held during a proposal, question or read. Notes of one range are
   * added and removed on its applying thread.
   * Bounds: one note for each such group of a range, and one step at a time for each note. A turn handles AGAIN_MAX
   * notes, those that have waited longest first, and asks about them when the turn before was answered, with QUESTION_BYTES. A transfer has MESSAGES_MAX messages at
   * most. The messages of all transfers that are read and not answered have BYTES_MAX, or are of one transfer; the others wait for a later turn.
   * Failure: a step that a range refuses or does not answer is repeated at a later turn.
   */
  private static final Logger LOG = LoggerFactory.getLogger(HandOvers.class);
  private static final int AGAIN_MAX = OtherRange.NAMES_MAX;
  private static final int QUESTION_BYTES = 1 << 20;
  private static final int MESSAGES_MAX = 256;
  private static final long BYTES_MAX = 32 << 20;
  private static final int FORGET_TURNS = 25; // between questions to other leaders
  private static final int FORGET_MAX = OtherRange.NAMES_MAX;

  private final List<InboxRangeServer> ranges;
  private final Layout layout;
  private final Map<Integer, OtherRange> others;
  private final int looks;
  private final int forgetTurns;
  private final InstantSource clock;

  @GuardedBy("this")
  private final Set<Source> noted = new LinkedHashSet<>();
  @GuardedBy("this")
  private final Set<Source> running = new HashSet<>();
  @GuardedBy("this")
  private long bytes; // of messages that are read and not answered

  /** Since which turn no range has a member of a group. */
  @GuardedBy("this")
  private final Map<Source, Integer> abandoned = new HashMap<>();

  @GuardedBy("this")
  private boolean asking;

  /** How often the source of a number has said that it is over. */
  private final Map<SetAside, Integer> over = new ConcurrentHashMap<>();

  private volatile int turns; // written by the timer thread only

  /** The part of a group in one range, with members there or without. */
  private record Source(InboxRangeServer range, int number, GroupKey group) {}

  /**
   * @param ranges those of this server
   * @param others by number, all ranges that messages may go to; those of this server are among them if it has several
   * @param looks how often an answer of other nodes is asked for again before it counts
   */
  HandOvers(List<InboxRangeServer> ranges, Layout layout, Map<Integer, ? extends OtherRange> others, int looks, InstantSource clock) {
    this.ranges = ranges;
    this.layout = layout;
    this.others = Map.copyOf(others);
    this.looks = looks;
    forgetTurns = looks > 0 ? FORGET_TURNS : 1;
    this.clock = clock;
  }

  /** Number of groups in which messages wait for members in other ranges. */
  synchronized int waiting() {
    return noted.size();
  }

  /** Notes groups of a range in which messages wait for members in other ranges. On its applying thread. */
  synchronized void note(InboxRangeServer range, List<GroupKey> groups) {
    int number = layout.rangeOf(range.applied().interval.from());
    for (GroupKey group : groups) noted.add(new Source(range, number, group));
  }

  /** One turn of the timer. */
  void turn() {
    int now = turns + 1;
    turns = now;
    List<Source> toAskAbout = new ArrayList<>();
    for (Source source : longestWaiting()) if (!isAtRest(source) && begin(source) && !continued(source)) toAskAbout.add(source);
    if (!toAskAbout.isEmpty()) askInTurn(toAskAbout);
    if (now % forgetTurns == 0) for (InboxRangeServer range : ranges) forgetEnded(range);
  }

  private synchronized List<Source> longestWaiting() {
    if (noted.isEmpty()) return List.of();
    var next = new ArrayList<Source>();
    int question = 0;
    for (Source source : noted) {
      question += source.group.filter().text().getBytes(StandardCharsets.UTF_8).length;
      if (next.size() == AGAIN_MAX || (!next.isEmpty() && question > QUESTION_BYTES)) break;
      if (!running.contains(source)) next.add(source);
    }
    noted.removeAll(next);
    noted.addAll(next);
    return next;
  }

  private synchronized boolean begin(Source source) {
    return running.add(source);
  }

  private synchronized void end(Source source) {
    running.remove(source);
  }

  /** Takes the next possible step for a group. */
  private void step(Source source) {
    if (!isAtRest(source) && begin(source) && !continued(source)) ask(List.of(source), () -> {});
  }

  /** Goes on with the transfer of a group, if there is one. */
  private boolean continued(Source source) {
    var group = source.range.applied().groups.get(source.group);
    var transfer = group == null ? null : group.transfer();
    if (transfer == null) return false;
    carry(source, transfer);
    return true;
  }

  /**
   * Removes the note of a group in which no message waits for other ranges any more. A later message is visible here
   * before it is noted, so no note is lost.
   */
  private synchronized boolean isAtRest(Source source) {
    var group = source.range.applied().groups.get(source.group);
    boolean atRest = group == null || !group.waitsForOthers();
    if (atRest) {
      noted.remove(source);
      abandoned.remove(source);
    }
    return atRest;
  }

  /** Asks about groups unless those of an earlier turn are still asked about. */
  private void askInTurn(List<Source> sources) {
    synchronized (this) {
      if (asking) {
        sources.forEach(running::remove);
        return;
      }
      asking = true;
    }
    ask(
        sources,
        () -> {
          synchronized (this) {
            asking = false;
          }
        });
  }

  /**
   * Asks the other ranges for their parts of some groups, and takes a step for each.
   *
   * @param answered is run before the steps
   */
  private void ask(List<Source> sources, Runnable answered) {
    var groups = sources.stream().map(Source::group).distinct().toList();
    Map<Integer, CompletableFuture<List<GroupPart>>> asked = new HashMap<>();
    others.forEach((number, range) -> asked.put(number, range.parts(groups)));
    var _ =
        CompletableFuture.allOf(asked.values().toArray(CompletableFuture<?>[]::new))
            .whenComplete(
                (_, _) -> {
                  answered.run();
                  for (Source source : sources) decide(source, asked, groups.indexOf(source.group));
                });
  }

  private void decide(Source source, Map<Integer, CompletableFuture<List<GroupPart>>> asked, int index) {
    var group = source.range.applied().groups.get(source.group);
    if (group == null || group.transfer() != null) {
      end(source);
      return;
    }
    Map<Integer, GroupPart> parts = new HashMap<>();
    boolean all = true;
    for (var each : asked.entrySet()) {
      if (each.getKey() == source.number) continue;
      var answer = each.getValue();
      if (answer.isCompletedExceptionally() || answer.join().size() <= index) all = false;
      else parts.put(each.getKey(), answer.join().get(index));
    }
    int target = target(group, parts);
    boolean none = group.credit() == 0 && parts.values().stream().allMatch(part -> part.credit() == 0);
    if (target >= 0) begin(source, target);
    else if (!none || !all) goOnWaiting(source);
    else if (isAbandoned(source)) endGroup(source);
    else end(source);
  }

  /**
   * The number of another range with members that take messages now; for a group without members in its own range, of another range with
   * any members. -1 if there is none.
   */
  private static int target(GroupState group, Map<Integer, GroupPart> parts) {
    int best = -1;
    int most = 0;
    for (var each : parts.entrySet()) {
      var part = each.getValue();
      if (part.credit() <= most || (!part.takes() && group.credit() > 0)) continue;
      most = part.credit();
      best = each.getKey();
    }
    return best;
  }

  /** Whether no range has had a member of a group for long enough. */
  private synchronized boolean isAbandoned(Source source) {
    return turns - abandoned.computeIfAbsent(source, _ -> turns) >= looks * forgetTurns;
  }

  private synchronized void goOnWaiting(Source source) {
    abandoned.remove(source);
    running.remove(source);
  }

  private void endGroup(Source source) {
    propose(source, new SessionCommand.EndGroup(source.group), _ -> goOnWaiting(source));
  }

  private void begin(Source source, int target) {
    var begin = new SessionCommand.BeginTransfer(clock.millis(), source.group, layout.firstShard(target), MESSAGES_MAX);
    propose(
        source,
        begin,
        result -> {
          var group = source.range.applied().groups.get(source.group);
          var transfer = group == null ? null : group.transfer();
          if (result.outcome() instanceof Outcome.Done && transfer != null) {
            carry(source, transfer);
          } else {
            var _ = isAtRest(source);
            goOnWaiting(source);
          }
        });
  }

  private void carry(Source source, Transfer transfer) {
    var target = others.get(layout.rangeOf(transfer.target()));
    long size = transfer.bytes();
    if (target == null || !reserve(size)) {
      end(source);
      return;
    }
    source.range.readTransfer(
        source.group,
        transfer,
        messages -> {
          if (messages == null) failed(source, size);
          else store(source, target, transfer.number(), messages, size);
        });
  }

  private synchronized boolean reserve(long size) {
    if (bytes > 0 && bytes + size > BYTES_MAX) return false;
    bytes += size;
    return true;
  }

  private synchronized void failed(Source source, long size) {
    bytes -= size;
    running.remove(source);
  }

  private void store(Source source, OtherRange target, long number, List<Publication> messages, long size) {
    var _ =
        target
            .store(new SessionCommand.AcceptTransfer(clock.millis(), source.group, number, messages))
            .whenComplete(
                (taken, failure) -> {
                  if (failure == null) {
                    giveBack(size);
                    letGo(source, number, taken == Taken.YES);
                  } else {
                    LOG.debug("The messages of a group were not handed over, trying again: {}", source.group, failure);
                    failed(source, size);
                  }
                });
  }

  private synchronized void giveBack(long size) {
    bytes -= size;
  }

  private void letGo(Source source, long number, boolean accepted) {
    propose(
        source,
        new SessionCommand.EndTransfer(clock.millis(), source.group, number, accepted),
        _ -> {
          goOnWaiting(source);
          // A refused transfer waits for a later turn; otherwise it would be repeated in a loop.
          if (accepted) step(source);
        });
  }

  private void propose(Source source, SessionCommand command, Consumer<SessionResult> done) {
    source.range.propose(
        command,
        done,
        () -> {
          LOG.debug("The messages of a group could not be handed over, trying again: {}", source.group);
          end(source);
        });
  }

  /** Forgets transfers to a range that their source ranges have ended. One whose proposal fails is found again. */
  private void forgetEnded(InboxRangeServer range) {
    Map<Integer, List<SetAside>> bySource = new HashMap<>();
    Set<SetAside> present = new HashSet<>();
    range.applied().acceptedTransfers.forEach(
        (group, number) -> {
          var each = new SetAside(group, number);
          present.add(each);
          bySource.computeIfAbsent(layout.rangeOf(ShardCounters.shardOf(number)), _ -> new ArrayList<>()).add(each);
        });
    if (looks > 0) over.keySet().retainAll(present);
    bySource.forEach((number, all) -> forgetEnded(range, others.get(number), someOf(all)));
  }

  /** As many as may be in a question, each time others. */
  private List<SetAside> someOf(List<SetAside> all) {
    int parts = (all.size() + FORGET_MAX - 1) / FORGET_MAX;
    int from = turns / forgetTurns % parts * FORGET_MAX;
    return all.subList(from, Math.min(all.size(), from + FORGET_MAX));
  }

  private void forgetEnded(InboxRangeServer range, @Nullable OtherRange source, List<SetAside> some) {
    if (source == null) return;
    var _ =
        source
            .over(some)
            .whenComplete(
                (answer, failure) -> {
                  if (failure != null || answer.size() != some.size()) return;
                  for (int i = 0; i < some.size(); i++) if (answer.get(i)) forgetSoon(range, some.get(i));
                });
  }

  private void forgetSoon(InboxRangeServer range, SetAside ended) {
    if (looks > 0 && over.merge(ended, 1, Integer::sum) <= looks) return;
    range.propose(new SessionCommand.ForgetTransfer(ended.group(), ended.number()), _ -> {}, () -> {});
  }
}
