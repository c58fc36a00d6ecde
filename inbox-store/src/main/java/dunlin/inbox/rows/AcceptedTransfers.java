package dunlin.inbox.rows;

import dunlin.store.RangeWriter;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of the transfers of group messages that this range has answered, with the answers, kept until the source range has ended them. A transfer that arrives
 * again gets the same answer, and changes nothing.
 */
public final class AcceptedTransfers {
  /*
   * A source range makes one transfer of a group at a time, with rising numbers. So the next number says that the one before is over, and takes its place; what comes
   * with a lower number comes late, from a leader that was replaced.
   *
   * Owner: the applying thread; any thread may read.
   * Bounds: one number for each group and each range that hands messages of it over.
   * Failure: every number is a row, so all replicas know the same. A number whose transfer no longer exists in the
   * source range is found and deleted.
   */
  private static final byte[] TAKEN = {1};
  private static final byte[] REFUSED = {0};

  /** By group, and by the source shard of that. */
  private final Map<GroupKey, Map<Integer, Answered>> groups = new ConcurrentHashMap<>();

  private record Answered(long number, boolean taken) {}

  /** Whether the messages of a transfer were taken, if that is decided: one that comes late is not taken. */
  public Optional<Boolean> answerTo(GroupKey group, long number) {
    var held = groups.getOrDefault(group, Map.of()).get(ShardCounters.shardOf(number));
    return held == null || held.number < number ? Optional.empty() : Optional.of(held.number == number && held.taken);
  }

  public void add(RangeWriter out, ShardInterval interval, GroupKey group, long number, boolean taken) {
    var before = put(group, number, taken);
    if (before != null) out.delete(SessionKeys.acceptedTransfer(interval.of(group), group, before.number));
    out.put(SessionKeys.acceptedTransfer(interval.of(group), group, number), taken ? TAKEN : REFUSED);
  }

  /** Restores a number from its row. */
  public void restore(GroupKey group, long number, byte[] value) {
    if (value.length != 1 || value[0] < REFUSED[0] || value[0] > TAKEN[0]) throw new IllegalStateException("an answer to a transfer of " + value.length + " bytes");
    put(group, number, value[0] == TAKEN[0]);
  }

  private @Nullable Answered put(GroupKey group, long number, boolean taken) {
    return groups.computeIfAbsent(group, _ -> new ConcurrentHashMap<>(2)).put(ShardCounters.shardOf(number), new Answered(number, taken));
  }

  public void remove(RangeWriter out, ShardInterval interval, GroupKey group, long number) {
    int shard = ShardCounters.shardOf(number);
    var held = groups.get(group);
    var present = held == null ? null : held.get(shard);
    if (held == null || present == null || present.number != number) return;
    held.remove(shard);
    if (held.isEmpty()) groups.remove(group);
    out.delete(SessionKeys.acceptedTransfer(interval.of(group), group, number));
  }

  /** Visits all numbers; any thread. */
  public void forEach(BiConsumer<GroupKey, Long> visitor) {
    groups.forEach((group, held) -> held.values().forEach(each -> visitor.accept(group, each.number)));
  }

  public void clear() {
    groups.clear();
  }
}
