package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Transfer;
import dunlin.model.Publication;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands messages that wait in a group of one range over to members in other ranges; MQTT 5, section 4.8.2.
 * {@link dunlin.inbox.range.Transfers} describes the steps in the ranges.
 */
final class HandOvers {
  /*
   * A range reports each group with waiting messages that none of its members takes. The group stays noted until no
   * such message waits. When another range has a member with room, a transfer begins. A transfer in progress, also from
   * before a restart, is continued from its rows. If a group has lost its last member in a range, its messages go to
   * any range that has members, and are dropped if none has.
   *
   * Owner: any thread, under this object's lock, which is not held during a proposal or read. Notes of one range are
   * added and removed on its applying thread.
   * Bounds: one note for each such group of a range, and one step at a time for each note. A turn handles AGAIN_MAX
   * notes, those that have waited longest first. A transfer has MESSAGES_MAX messages at most.
   * Failure: a step that a range refuses or does not answer is repeated at a later turn.
   */
  private static final Logger LOG = LoggerFactory.getLogger(HandOvers.class);
  private static final int AGAIN_MAX = 256;
  private static final int MESSAGES_MAX = 256;
  private static final int FORGET_TURNS = 25;
  private static final int FORGET_MAX = 64;

  private final List<InboxRangeServer> ranges;
  private final IntFunction<InboxRangeServer> ofShard;
  private final InstantSource clock;

  @GuardedBy("this")
  private final Set<Source> noted = new LinkedHashSet<>();
  @GuardedBy("this")
  private final Set<Source> running = new HashSet<>();

  private int turns; // used by the timer thread only

  /** The part of a group in one range, with members there or without. */
  private record Source(InboxRangeServer range, GroupKey group) {}

  /** @param ofShard the range that holds a shard */
  HandOvers(List<InboxRangeServer> ranges, IntFunction<InboxRangeServer> ofShard, InstantSource clock) {
    this.ranges = ranges;
    this.ofShard = ofShard;
    this.clock = clock;
  }

  /** Number of groups in which messages wait for members in other ranges. */
  synchronized int waiting() {
    return noted.size();
  }

  /** Notes groups of a range in which messages wait for members in other ranges. On its applying thread. */
  synchronized void note(InboxRangeServer range, List<GroupKey> groups) {
    for (GroupKey group : groups) noted.add(new Source(range, group));
  }

  /** One turn of the timer. */
  void turn() {
    for (Source source : longestWaiting()) step(source);
    if (++turns % FORGET_TURNS == 0) for (InboxRangeServer range : ranges) forgetEnded(range);
  }

  private synchronized List<Source> longestWaiting() {
    if (noted.isEmpty()) return List.of();
    var next = new ArrayList<Source>();
    for (Source source : noted) {
      if (next.size() == AGAIN_MAX) break;
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
    if (isAtRest(source) || !begin(source)) return;
    var group = source.range.applied().groups.get(source.group);
    var transfer = group == null ? null : group.transfer();
    var target = group == null ? null : target(source, group);
    if (transfer != null) carry(source, transfer);
    else if (target != null) begin(source, target);
    else if (group != null && group.credit() == 0 && !hasMembers(source.group)) endGroup(source);
    else end(source);
  }

  private void endGroup(Source source) {
    propose(
        source,
        source.range,
        new SessionCommand.EndGroup(source.group),
        _ -> end(source));
  }

  /**
   * Removes the note of a group in which no message waits for other ranges any more. A later message is visible here
   * before it is noted, so no note is lost.
   */
  private synchronized boolean isAtRest(Source source) {
    var group = source.range.applied().groups.get(source.group);
    boolean atRest = group == null || !group.waitsForOthers();
    if (atRest) noted.remove(source);
    return atRest;
  }

  /**
   * Another range with members that take messages now; for a group without members in its own range, another range with
   * any members.
   */
  private @Nullable InboxRangeServer target(Source source, GroupState group) {
    InboxRangeServer best = null;
    int most = 0;
    for (InboxRangeServer range : ranges) {
      var other = range.applied().groups.get(source.group);
      if (range.equals(source.range) || other == null || other.credit() <= most) continue;
      if (!other.takes() && group.credit() > 0) continue;
      most = other.credit();
      best = range;
    }
    return best;
  }

  private boolean hasMembers(GroupKey group) {
    for (InboxRangeServer range : ranges) if (range.groupCredit(group.tenant(), group.filter()) > 0) return true;
    return false;
  }

  private void begin(Source source, InboxRangeServer target) {
    var begin = new SessionCommand.BeginTransfer(clock.millis(), source.group, target.applied().interval.from(), MESSAGES_MAX);
    propose(
        source,
        source.range,
        begin,
        result -> {
          var group = source.range.applied().groups.get(source.group);
          var transfer = group == null ? null : group.transfer();
          if (result.outcome() instanceof Outcome.Done && transfer != null) {
            carry(source, transfer);
          } else {
            var _ = isAtRest(source);
            end(source);
          }
        });
  }

  private void carry(Source source, Transfer transfer) {
    source.range.readTransfer(
        source.group,
        transfer,
        messages -> {
          if (messages == null) end(source);
          else accept(source, transfer, messages);
        });
  }

  private void accept(Source source, Transfer transfer, List<Publication> messages) {
    var target = ofShard.apply(transfer.target());
    propose(
        source,
        target,
        new SessionCommand.AcceptTransfer(clock.millis(), source.group, transfer.number(), messages),
        result -> letGo(source, target, transfer.number(), result.outcome() instanceof Outcome.Existed(var accepted) && accepted.getFirst()));
  }

  private void letGo(Source source, InboxRangeServer target, long number, boolean accepted) {
    propose(
        source,
        source.range,
        new SessionCommand.EndTransfer(clock.millis(), source.group, number, accepted),
        _ -> {
          if (accepted) target.propose(new SessionCommand.ForgetTransfer(source.group, number), _ -> {}, () -> {});
          end(source);
          // A refused transfer waits for a later turn; otherwise it would be repeated in a loop.
          if (accepted) step(source);
        });
  }

  private void propose(Source source, InboxRangeServer range, SessionCommand command, Consumer<SessionResult> done) {
    range.propose(
        command,
        done,
        () -> {
          LOG.debug("The messages of a group could not be handed over, trying again: {}", source.group);
          end(source);
        });
  }

  /** Forgets accepted transfers that the source range has ended. One whose proposal fails is found again. */
  private void forgetEnded(InboxRangeServer range) {
    var ended = new ArrayList<SessionCommand>();
    range.applied().acceptedTransfers.forEach(
        (key, number) -> {
          var group = ofShard.apply(ShardCounters.shardOf(number)).applied().groups.get(key);
          var transfer = group == null ? null : group.transfer();
          boolean lasts = transfer != null && transfer.number() == number;
          if (ended.size() < FORGET_MAX && !lasts) ended.add(new SessionCommand.ForgetTransfer(key, number));
        });
    for (SessionCommand each : ended) range.propose(each, _ -> {}, () -> {});
  }
}
