package dunlin.inbox.between;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What the leader of a range of sessions knows of the others: what they have, and which publishers have ended whose exchanges are remembered here. */
public final class OtherSessions {
  /*
   * Owner: the timer thread asks; answers come on other threads, and any thread reads.
   * Bounds: one question of each kind on its way to a range, of SESSIONS_MAX sessions. ENDED_MAX sessions are known to have ended until the range has forgotten
   *   them; beyond that no more are asked about.
   * Failure: while a range does not answer, what it has answered last stays. A range that has never answered has nothing, and a session of which nothing is known
   *   lives. A session has ended when that was answered TIMES times, some seconds apart: a replica that is just being opened may miss one for a moment.
   */
  private static final int TIMES = 2;
  private static final int SUMS_TURNS = 5;
  private static final int ENDED_TURNS = 25;
  static final int ENDED_MAX = 65_536;

  /** By number. */
  private final Map<Integer, OtherRange> ranges;

  private final int[] rangeOfShard;
  private final Map<Integer, Sums> sums = new ConcurrentHashMap<>();
  private final Set<Integer> askedForSums = ConcurrentHashMap.newKeySet();
  private final Set<Integer> askedForEnded = ConcurrentHashMap.newKeySet();

  private final Map<SessionKey, Found> ended = new ConcurrentHashMap<>();

  /** How often it was answered that a session has ended. */
  private record Found(long birth, int times) {}

  private int turns; // used by the timer thread only

  /** @param ranges all other ranges, by number */
  public OtherSessions(Layout layout, Map<Integer, ? extends OtherRange> ranges) {
    this.ranges = Map.copyOf(ranges);
    rangeOfShard = ShardInterval.rangeOfShard(ShardInterval.divide(layout.shards(), layout.ranges()));
  }

  /**
   * One turn of the timer: asks the others now and then.
   *
   * @param known of the own range
   */
  public void turn(ForeignExchanges known) {
    turns++;
    if (turns % SUMS_TURNS == 0) ranges.forEach(this::askForSums);
    if (turns % ENDED_TURNS != 0) return;
    ended.keySet().removeIf(session -> !known.knows(session));
    if (ended.size() < ENDED_MAX) askForEnded(known.next(OtherRange.SESSIONS_MAX));
  }

  private void askForSums(int number, OtherRange range) {
    if (!askedForSums.add(number)) return;
    var _ =
        range
            .sums()
            .whenComplete(
                (answer, failure) -> {
                  if (failure == null) sums.put(number, answer);
                  askedForSums.remove(number);
                });
  }

  /** What all other ranges have, as they have answered last. */
  public Sums sums() {
    return sums.values().stream().reduce(Sums.NONE, Sums::plus);
  }

  /** Asks each range for its own; those of a range that has not answered before are found again. */
  private void askForEnded(List<ForeignExchanges.Publisher> publishers) {
    var byRange = new HashMap<Integer, List<Birth>>();
    for (var each : publishers) {
      var session = each.session();
      if (!lives(session, each.birth())) continue;
      byRange.computeIfAbsent(rangeOfShard[session.shard(rangeOfShard.length)], _ -> new ArrayList<>()).add(new Birth(session.tenant(), session.clientId(), each.birth()));
    }
    byRange.forEach(this::askForEnded);
  }

  private void askForEnded(int number, List<Birth> sessions) {
    var range = ranges.get(number);
    if (range == null || !askedForEnded.add(number)) return;
    var _ =
        range
            .ended(sessions)
            .whenComplete(
                (answer, failure) -> {
                  if (failure == null && answer.size() == sessions.size()) note(sessions, answer);
                  askedForEnded.remove(number);
                });
  }

  private void note(List<Birth> sessions, List<Boolean> answer) {
    for (int i = 0; i < sessions.size(); i++) {
      var session = sessions.get(i);
      var key = new SessionKey(session.tenant(), session.clientId());
      if (!answer.get(i)) ended.remove(key);
      else if (ended.containsKey(key) || ended.size() < ENDED_MAX) ended.merge(key, new Found(session.birth(), 1), OtherSessions::again);
    }
  }

  private static Found again(Found before, Found now) {
    return before.birth == now.birth ? new Found(now.birth, Math.min(TIMES, before.times + 1)) : now;
  }

  /** Whether a session of another range has not ended, for all that is known. */
  public boolean lives(SessionKey session, long birth) {
    var found = ended.get(session);
    return found == null || found.birth != birth || found.times < TIMES;
  }

  /** How many publishers are known, or said once, to have ended that the own range has not forgotten yet. */
  int ended() {
    return ended.size();
  }
}
