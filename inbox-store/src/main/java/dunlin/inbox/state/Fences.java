package dunlin.inbox.state;

import dunlin.inbox.rows.SessionKeys;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Connections that are being closed because a full inbox refused a message of theirs. None of their later messages is
 * stored, because the client sends these again over its next connection, behind the refused one.
 */
public final class Fences {
  /*
   * Owner: the applying thread. The rows are replicated, so all replicas refuse the same messages.
   * Bounds: MAX; the oldest is removed first. Messages that were already proposed when one was refused are behind it by
   * no more commands than the range's queue and its entries in flight hold; FencedProposer refuses all that are proposed
   * later. So a fence is needed for no longer.
   * Failure: if two connections have the same number, which is very unlikely, one of them has to reconnect.
   */
  public static final int MAX = 32_768;

  private final Map<Long, Long> orders = new LinkedHashMap<>();
  private final RangeState state;

  Fences(RangeState state) {
    this.state = state;
  }

  void clear() {
    orders.clear();
  }

  public boolean holds(long fence) {
    return fence != 0 && orders.containsKey(fence);
  }

  public int size() {
    return orders.size();
  }

  public void add(RangeWriter out, long fence) {
    if (fence == 0 || orders.containsKey(fence)) return;
    long order = state.counters.nextEpoch(out, state.interval.from());
    orders.put(fence, order);
    out.put(SessionKeys.fence(order), FieldWriter.bytesOf(fields -> fields.number(fence)));
    if (orders.size() <= MAX) return;
    var oldest = orders.entrySet().iterator();
    out.delete(SessionKeys.fence(oldest.next().getValue()));
    oldest.remove();
  }

  /** Restores a fence from its row; called in the order of the keys. */
  public void restore(byte[] key, byte[] value) {
    orders.put(FieldReader.read(value, FieldReader::number), SessionKeys.fenceOrder(key));
  }
}
