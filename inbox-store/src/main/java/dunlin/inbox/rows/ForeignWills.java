package dunlin.inbox.rows;

import dunlin.inbox.rows.ForeignExchanges.Stored;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/** The wills of sessions in other ranges whose messages are stored in this one. One that is sent again, by another leader of its range too, is not stored again. */
public final class ForeignWills {
  /*
   * The row of a will in its own range stops what comes late, once the will is published. So a will is remembered here for as long as something may be on its way that has passed
   * that row. Nothing says for how long that is, since a message over a link that lives has no deadline: what comes later than KEPT_MILLIS behind the last attempt is stored once more.
   *
   * Owner: the applying thread; how many there are is asked on any thread.
   * Bounds: at most MAX, beyond which the oldest is forgotten. Those that came last more than KEPT_MILLIS ago, by the times in the log, are forgotten when others come, at most
   *   FORGOTTEN_AT_ONCE for each of these: so many rows are removed by one command. Without others they stay. Each with a number for each group that its message is stored for.
   * Failure: they are rows, so all replicas know the same.
   */
  static final long KEPT_MILLIS = Duration.ofMinutes(10).toMillis();

  static final int MAX = 65_536;
  static final int FORGOTTEN_AT_ONCE = 4;
  private static final int FORMAT = 1;

  private static final Comparator<Held> OLDEST_FIRST =
      Comparator.comparingLong(Held::at).thenComparing(held -> held.will.session.tenant()).thenComparing(held -> held.will.session.clientId()).thenComparingLong(held -> held.will.epoch);

  private final Map<Will, Held> wills = new ConcurrentHashMap<>();
  private final TreeSet<Held> byAge = new TreeSet<>(OLDEST_FIRST);

  /** The will that the connection with this epoch has left. */
  public record Will(SessionKey session, long epoch) {}

  /** @param at when it came last, milliseconds since 1970 */
  private record Held(Will will, long at, Stored stored) {}

  /** What is stored here of the message of a will. */
  public Stored stored(Will will) {
    var held = wills.get(will);
    return held == null ? Stored.NOTHING : held.stored;
  }

  /** Notes that a will has come, and what is stored of it now. */
  public void heard(RangeWriter out, ShardInterval interval, Will will, long now, Stored stored) {
    put(new Held(will, now, stored));
    out.put(
        key(interval, will),
        FieldWriter.bytesOf(
            fields -> {
              fields.octet(FORMAT);
              fields.number(now);
              fields.bytes(stored.toBytes());
            }));
    for (int i = 0; i < FORGOTTEN_AT_ONCE && (byAge.size() > MAX || byAge.first().at <= now - KEPT_MILLIS); i++) {
      var oldest = byAge.removeFirst();
      wills.remove(oldest.will);
      out.delete(key(interval, oldest.will));
    }
  }

  /** Restores a will from its row. */
  public void restore(Will will, byte[] value) {
    put(
        FieldReader.read(
            value,
            in -> {
              in.format(FORMAT, "will of another range");
              return new Held(will, in.number(), Stored.of(in.bytes()));
            }));
  }

  private void put(Held held) {
    var before = wills.put(held.will, held);
    if (before != null) byAge.remove(before);
    byAge.add(held);
  }

  private static byte[] key(ShardInterval interval, Will will) {
    return SessionKeys.foreignWill(interval.homeOf(will.session), will.session, will.epoch);
  }

  public int size() {
    return wills.size();
  }

  public void clear() {
    wills.clear();
    byAge.clear();
  }
}
