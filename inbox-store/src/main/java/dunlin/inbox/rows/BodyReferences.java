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
 * How many headers refer to a body that several inboxes hold. The counts are rows, and those used lately are here too; the lowest bit of
 * a body's number says whether it has a count at all.
 */
public final class BodyReferences {
  /*
   * Owner: the applying thread.
   * It only repeats what the rows say, and decides nothing, as HeaderCache. A changed count is written by write(), in one write with
   * what changed it. What is not here is read a stretch at a time: messages for many were stored one after the other, and are mostly
   * acknowledged so.
   * Bounds: CACHED_MAX counts, some megabytes, and those changed since the last write; what was not used for the longest time goes first.
   * Failure: a body whose count is missing stops the replica; to delete the body would lose a message, and to keep it would leak.
   */
  private static final int FORMAT = 1;
  public static final int CACHED_MAX = 1 << 16;
  public static final int AHEAD_MAX = 64;

  /** By when they were used. */
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

  /** A body is stored that so many headers will refer to. */
  public void begin(String tenant, long id, int references) {
    var count = new Count(tenant, references);
    counts.put(id, count);
    change(id, count);
  }

  /** One header less refers to a body. Answers whether it was the last. */
  public boolean release(RangeWriter rows, String tenant, long id) {
    if (!shared(id)) return true;
    var count = counts.get(id);
    if (count == null) count = read(rows, tenant, id);
    if (count == null) throw new IllegalStateException("nothing says how many messages refer to body " + id + " of " + tenant);
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

  /** Reads the count of a body, and some behind it. */
  private @Nullable Count read(RangeWriter rows, String tenant, long id) {
    int[] left = {AHEAD_MAX};
    rows.scan(
        SessionKeys.references(tenant, id),
        SessionKeys.behindReferences(tenant, id),
        (key, value) -> {
          // What is here already is newer than its row.
          counts.computeIfAbsent(
              SessionKeys.bodyId(key),
              _ -> {
                var count = new Count(tenant, references(value));
                count.stored = true;
                return count;
              });
          return --left[0] > 0;
        });
    var found = counts.get(id); // used last, so it stays
    shrink();
    return found;
  }

  /** Adds the rows of what has changed. */
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

  /** What was changed stays until it is written. */
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
