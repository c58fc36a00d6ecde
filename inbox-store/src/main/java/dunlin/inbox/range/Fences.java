package dunlin.inbox.range;

import dunlin.inbox.rows.SessionKeys;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Connections that end since a full inbox has refused a message of theirs: nothing more of them is stored, as they send it again over the
 * next connection behind the one that was refused.
 */
final class Fences {
  /*
   * Owner: the applying thread. The rows are replicated, so all replicas refuse the same.
   * Bounds: MAX, the oldest goes first. What was on its way to the log when a message was refused is behind it by no more commands than the
   *   range's queue and its entries in flight hold, and FencedRange refuses all that is proposed later. So a fence is needed for no longer.
   * Failure: two connections with the same number, which chance hardly makes, cost one of them a reconnect.
   */
  static final int MAX = 32_768;

  private final Map<Long, Long> orders = new LinkedHashMap<>();
  private final RangeState state;

  Fences(RangeState state) {
    this.state = state;
  }

  void clear() {
    orders.clear();
  }

  boolean holds(long fence) {
    return fence != 0 && orders.containsKey(fence);
  }

  int size() {
    return orders.size();
  }

  void add(RangeWriter out, long fence) {
    if (fence == 0 || orders.containsKey(fence)) return;
    long order = state.counters.nextEpoch(out, state.interval.from());
    orders.put(fence, order);
    out.put(SessionKeys.fence(order), FieldWriter.bytesOf(fields -> fields.number(fence)));
    if (orders.size() <= MAX) return;
    var oldest = orders.entrySet().iterator();
    out.delete(SessionKeys.fence(oldest.next().getValue()));
    oldest.remove();
  }

  /** Takes a row, in the order of the keys. */
  void restore(byte[] key, byte[] value) {
    orders.put(FieldReader.read(value, FieldReader::number), SessionKeys.fenceOrder(key));
  }
}
