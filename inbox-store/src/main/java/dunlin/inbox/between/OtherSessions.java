package dunlin.inbox.between;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.GroupPart;
import dunlin.inbox.between.OtherRange.Held;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.store.StoreException;
import dunlin.store.ways.WantedTenants;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** What the leader of a range of sessions knows of the others: what they have, also of some tenants, and which publishers have ended whose exchanges are remembered here. */
public final class OtherSessions {
  /*
   * Owner: the timer thread asks; answers come on other threads, and any thread reads.
   * Bounds: one question of each kind on its way to a range, of SESSIONS_MAX sessions, or of the tenants that are wanted (WantedTenants); others seem to have nothing
   *   there. ENDED_MAX sessions are known to have ended until the range has forgotten them; beyond that no more are asked about.
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

  private final WantedTenants wanted = new WantedTenants();

  /** By range, what the tenants have there that it was asked about last. */
  private final Map<Integer, Map<String, Held>> held = new ConcurrentHashMap<>();

  private final Set<Integer> askedForHeld = ConcurrentHashMap.newKeySet();

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
    if (turns % SUMS_TURNS == 0) {
      ranges.forEach(this::askForSums);
      askForHeld(wanted.list());
    }
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

  private void askForHeld(List<String> tenants) {
    if (!tenants.isEmpty()) ranges.forEach((number, range) -> askForHeld(number, range, tenants));
  }

  private void askForHeld(int number, OtherRange range, List<String> tenants) {
    if (!askedForHeld.add(number)) return;
    var _ =
        range
            .held(tenants)
            .whenComplete(
                (answer, failure) -> {
                  if (failure == null) held.put(number, WantedTenants.byTenant(tenants, answer));
                  askedForHeld.remove(number);
                });
  }

  /** What a tenant has in all other ranges, as they have answered last; nothing when it was not wanted before. */
  public Held held(String tenant) {
    wanted.want(tenant);
    return held.values().stream().map(each -> each.getOrDefault(tenant, Held.NONE)).reduce(Held.NONE, Held::plus);
  }

  /**
   * Finds the range whose members of a group can take most; the own one rather than one with as much.
   *
   * @return empty when none has members; fails when that is not known
   */
  public CompletableFuture<Optional<OtherRange>> withMembers(GroupKey group, OtherRange own) {
    var all = new ArrayList<OtherRange>(List.of(own));
    all.addAll(ranges.values());
    var asked = all.stream().map(range -> range.parts(List.of(group))).toList();
    return CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new))
        .handle((_, failure) -> {
          int best = -1;
          int most = 0;
          for (int i = 0; i < asked.size(); i++) {
            int credit = asked.get(i).isCompletedExceptionally() ? 0 : asked.get(i).join().stream().mapToInt(GroupPart::credit).sum();
            if (credit <= most) continue;
            most = credit;
            best = i;
          }
          if (best < 0 && failure != null) throw new StoreException("not all ranges of sessions have answered whether they have members of " + group.filter().text(), failure);
          return best < 0 ? Optional.empty() : Optional.of(all.get(best));
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
