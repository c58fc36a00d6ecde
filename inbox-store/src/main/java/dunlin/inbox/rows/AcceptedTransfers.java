package dunlin.inbox.rows;

import dunlin.store.RangeWriter;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/**
 * The numbers of the transfers of group messages that this range has accepted, kept until the source range has deleted
 * the messages. A transfer that arrives again is not accepted a second time.
 */
public final class AcceptedTransfers {
  /*
   * Owner: the applying thread; any thread may read.
   * Bounds: one number for each group and each range that has it, for the duration of a transfer.
   * Failure: every number is a row, so all replicas know the same. A number whose transfer no longer exists in the
   * source range, because the process ended before this range was told, is found and deleted.
   */
  private static final byte[] ROW = {1};

  private final Map<GroupKey, Set<Long>> groups = new ConcurrentHashMap<>();

  public boolean has(GroupKey group, long number) {
    var numbers = groups.get(group);
    return numbers != null && numbers.contains(number);
  }

  public void add(RangeWriter out, ShardInterval interval, GroupKey group, long number) {
    restore(group, number);
    out.put(SessionKeys.acceptedTransfer(interval.of(group), group, number), ROW);
  }

  /** Restores a number from its row. */
  public void restore(GroupKey group, long number) {
    groups.computeIfAbsent(group, _ -> ConcurrentHashMap.newKeySet(2)).add(number);
  }

  public void remove(RangeWriter out, ShardInterval interval, GroupKey group, long number) {
    var numbers = groups.get(group);
    if (numbers == null || !numbers.remove(number)) return;
    if (numbers.isEmpty()) groups.remove(group);
    out.delete(SessionKeys.acceptedTransfer(interval.of(group), group, number));
  }

  /** Visits all numbers; any thread. */
  public void forEach(BiConsumer<GroupKey, Long> visitor) {
    groups.forEach((group, numbers) -> numbers.forEach(number -> visitor.accept(group, number)));
  }

  public void clear() {
    groups.clear();
  }
}
