package dunlin.inbox.rows;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts the headers that refer to a message body shared by several inboxes. The counts are rows; this class caches the
 * recently used ones. The lowest bit of a body's number says whether it has a count at all.
 */
public final class BodyReferences {
  /*
   * Owner: the applying thread.
   * Like HeaderCache, it only caches rows and decides nothing. A changed count is written by write(), in the same write
   * as the change that caused it. Missing counts are read several at a time: messages with many receivers were stored
   * one after the other and are mostly acknowledged in that order.
   * Bounds: CACHED_MAX counts, some megabytes, plus those changed since the last write; the least recently used is
   * evicted first.
   * Failure: a body whose count is missing stops the replica: deleting the body could lose a message, and keeping it
   * would leak.
   */
  private static final int FORMAT = 1;
  public static final int CACHED_MAX = 1 << 16;
  public static final int AHEAD_MAX = 64;

  /** In the order of their last use. */
  private final Map<Long, Count> counts = new LinkedHashMap<>(16, 0.75f, true);

  private List<Long> changed = new ArrayList<>();

  private static final class Count {
    private final String tenant;
    private int references;
    private boolean changed;
    private boolean stored;

    Count(String tenant, int references) {
      this.tenant = tenant;
      this.references = references;
    }
  }

  /** The number of a body. */
  public static long id(long number, boolean shared) {
    return number << 1 | (shared ? 1 : 0);
  }

  public static boolean shared(long id) {
    return (id & 1) != 0;
  }

  /** The shard that a body stands in. */
  public static int shardOf(long id) {
    return ShardCounters.shardOf(id >>> 1);
  }

  /** Begins the count of a new body that this many headers will refer to. */
  public void begin(String tenant, long id, int references) {
    var count = new Count(tenant, references);
    counts.put(id, count);
    change(id, count);
  }

  /** Removes one reference to a body. Answers whether it was the last. */
  public boolean release(RangeWriter rows, String tenant, long id) {
    if (!shared(id)) return true;
    var count = counts.get(id);
    if (count == null) count = read(rows, tenant, id);
    if (count == null) throw new IllegalStateException("the reference count of body " + id + " of " + tenant + " is missing");
    count.references--;
    if (count.references > 0) {
      change(id, count);
      return false;
    }
    counts.remove(id);
    if (count.stored) rows.delete(SessionKeys.references(tenant, id));
    return true;
  }

  private void change(long id, Count count) {
    if (count.changed) return;
    count.changed = true;
    changed.add(id);
  }

  /** Reads the count of a body and some of the following ones. */
  private @Nullable Count read(RangeWriter rows, String tenant, long id) {
    int[] left = {AHEAD_MAX};
    rows.scan(
        SessionKeys.references(tenant, id),
        SessionKeys.behindReferences(tenant, id),
        (key, value) -> {
          // A cached count is newer than its row.
          counts.computeIfAbsent(
              SessionKeys.bodyId(key),
              _ -> {
                var count = new Count(tenant, references(value));
                count.stored = true;
                return count;
              });
          return --left[0] > 0;
        });
    var found = counts.get(id); // makes it the most recently used
    shrink();
    return found;
  }

  /** Writes the changed counts to their rows. */
  public void write(RangeWriter rows) {
    for (long id : changed) {
      var count = counts.get(id);
      if (count == null || !count.changed) continue;
      count.changed = false;
      count.stored = true;
      int references = count.references;
      rows.put(
          SessionKeys.references(count.tenant, id),
          FieldWriter.bytesOf(
              fields -> {
                fields.octet(FORMAT);
                fields.number(references);
              }));
    }
    changed = new ArrayList<>();
    shrink();
  }

  /** Evicts counts; changed ones stay until they are written. */
  private void shrink() {
    var eldest = counts.values().iterator();
    while (counts.size() > CACHED_MAX && eldest.hasNext()) if (!eldest.next().changed) eldest.remove();
  }

  public static int references(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "count of a body");
          return in.count();
        });
  }

  public int cached() {
    return counts.size();
  }

  public void clear() {
    counts.clear();
    changed = new ArrayList<>();
  }
}
