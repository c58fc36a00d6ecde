package dunlin.inbox.rows;

import dunlin.inbox.InboxSettings;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Gives out unique numbers: epochs, which are also births, and the numbers of bodies. Each shard counts separately, and
 * each number contains its shard. So numbers stay unique however shards move between ranges.
 */
public final class ShardCounters {
  /*
   * Owner: the applying thread; any thread may ask whether an epoch is past.
   * Bounds: two numbers for each shard that has given one out. A number has SHARD_BITS for its shard and 51 bits for
   * the count, which lasts 71 years at a million a second.
   */
  /** Enough for {@link InboxSettings#SHARDS_MAX}. */
  private static final int SHARD_BITS = 12;

  private static final int FORMAT = 1;

  private final Map<Integer, Counters> shards = new ConcurrentHashMap<>();

  private static final class Counters {
    private volatile long epochs; // written by the applying thread
    private long bodies;
  }

  /** The shard that gave out a number. */
  public static int shardOf(long number) {
    return (int) (number & ((1 << SHARD_BITS) - 1));
  }

  private static long number(int shard, long count) {
    return count << SHARD_BITS | shard;
  }

  /** An epoch that no connection, session or group ever had, so that an ended one is never taken for a present one. */
  public long nextEpoch(RangeWriter out, int shard) {
    var counters = of(shard);
    long next = counters.epochs + 1;
    counters.epochs = next;
    write(out, shard, counters);
    return number(shard, next);
  }

  /** Whether a shard has given out this epoch, or a later one. Any thread; what is being given out may not count yet. */
  public boolean isPast(long epoch) {
    var counters = shards.get(shardOf(epoch));
    return counters != null && number(shardOf(epoch), counters.epochs) >= epoch;
  }

  /** A body number that was never used before. */
  public long nextBody(RangeWriter out, int shard) {
    var counters = of(shard);
    counters.bodies++;
    write(out, shard, counters);
    return number(shard, counters.bodies);
  }

  private Counters of(int shard) {
    return shards.computeIfAbsent(shard, _ -> new Counters());
  }

  private static void write(RangeWriter out, int shard, Counters counters) {
    out.put(
        SessionKeys.counters(shard),
        FieldWriter.bytesOf(
            fields -> {
              fields.octet(FORMAT);
              fields.number(counters.epochs);
              fields.number(counters.bodies);
            }));
  }

  public void restore(int shard, byte[] value) {
    FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "counters of a shard");
          var counters = of(shard);
          counters.epochs = in.number();
          counters.bodies = in.number();
          return counters;
        });
  }

  public void clear() {
    shards.clear();
  }
}
