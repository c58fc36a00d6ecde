package dunlin.inbox.rows;

import dunlin.store.RangeWriter;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/** Numbers of the transfers of messages of groups that this range has taken from others, until these have removed the messages: one that comes again is not taken again. */
public final class AcceptedTransfers {
  /*
   * Owner: the applying thread; any thread may look.
   * Bounds: one number for each group and each range that has it, for as long as a transfer takes.
   * Failure: rows, so every replica knows the same. One that the other range does not have any more, since the process ended before this one was told, is found and
   *   forgotten.
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

  /** Takes a row. */
  public void restore(GroupKey group, long number) {
    groups.computeIfAbsent(group, _ -> ConcurrentHashMap.newKeySet(2)).add(number);
  }

  public void remove(RangeWriter out, ShardInterval interval, GroupKey group, long number) {
    var numbers = groups.get(group);
    if (numbers == null || !numbers.remove(number)) return;
    if (numbers.isEmpty()) groups.remove(group);
    out.delete(SessionKeys.acceptedTransfer(interval.of(group), group, number));
  }

  /** Visits all; any thread. */
  public void forEach(BiConsumer<GroupKey, Long> visitor) {
    groups.forEach((group, numbers) -> numbers.forEach(number -> visitor.accept(group, number)));
  }

  public void clear() {
    groups.clear();
  }
}
