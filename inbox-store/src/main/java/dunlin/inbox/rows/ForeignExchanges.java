package dunlin.inbox.rows;

import dunlin.model.TopicFilter;
import dunlin.store.RangeWriter;
import dunlin.transport.Terms;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;

/**
 * What a range knows of sessions in other ranges that publish with QoS 2: the exchanges whose messages are stored here, and of each session the latest epoch
 * of which anything came. A repeated PUBLISH of such an exchange is not stored again, and what comes late from an earlier connection is refused. The key
 * includes the session's birth, so that a later session of the same client does not find the exchanges of an earlier one.
 */
public final class ForeignExchanges {
  /*
   * Owner: the applying thread; any thread may read. lookForOver() and next() belong to the timer thread of the range's leader.
   * Bounds: one entry for each publisher of another range that has sent something for this range lately. Its open exchanges are at most one for each
   *   packet identifier, with a number for each group that its message is stored for. An entry is removed when a later session of the client sends its first message, when its session has ended, and when it has no
   *   open exchange and its epoch is old enough that nothing of an earlier one can be on its way.
   *   The leader keeps memory() below a maximum, together with the exchanges of this range's sessions.
   * Failure: exchanges and epochs are rows, so all replicas know the same.
   */
  private static final int ENTRY_BYTES = 128;
  private static final int GROUP_BYTES = 64;

  private final Map<SessionKey, Held> sessions = new ConcurrentHashMap<>();

  /** Number of sessions with an exchange. */
  private final AtomicInteger open = new AtomicInteger();

  /** Estimated memory of all exchanges. */
  private final AtomicLong memory = new AtomicLong();

  /** What next() has not answered yet; used by the timer thread only. */
  private Iterator<Map.Entry<SessionKey, Held>> left = Collections.emptyIterator();

  private static final class Held {
    private final long birth;
    private final Map<Integer, Stored> packetIds = new ConcurrentHashMap<>(4);
    private volatile long epoch; // written by the applying thread
    private volatile int memory; // written by the applying thread

    // How lookForOver() has found it so far; used by the timer thread only.
    private long foundEpoch;
    private boolean foundEnded;
    private int looks;

    Held(long birth) {
      this.birth = birth;
      epoch = birth;
    }

    /** Answers how often it was found like this, one time after the other. */
    int found(boolean ended) {
      long now = epoch;
      if (now == foundEpoch && ended == foundEnded) return ++looks;
      foundEpoch = now;
      foundEnded = ended;
      looks = 0;
      return 0;
    }
  }

  /**
   * What is stored here of the message of an exchange.
   *
   * @param plain for plain subscribers
   * @param groups the {@linkplain Terms.Pick#numberOf numbers} of the groups for which it is stored
   */
  public record Stored(boolean plain, Set<Long> groups) {
    static final Stored NOTHING = new Stored(false, Set.of());

    public Stored {
      groups = Set.copyOf(groups);
    }

    /** The same with more groups. */
    public Stored with(boolean plainToo, List<TopicFilter> more) {
      var all = new HashSet<>(groups);
      for (TopicFilter each : more) all.add(Terms.Pick.numberOf(each));
      return new Stored(plainToo, all);
    }

    /** Whether it is stored for a group. */
    public boolean isFor(TopicFilter group) {
      return groups.contains(Terms.Pick.numberOf(group));
    }

    /** Estimates the heap that it takes. */
    int memory() {
      return ENTRY_BYTES + GROUP_BYTES * groups.size();
    }

    /** Those of some groups that it is not stored for. */
    public List<TopicFilter> leftOf(List<TopicFilter> all) {
      return all.stream().filter(group -> !isFor(group)).toList();
    }

    byte[] toBytes() {
      var bytes = ByteBuffer.allocate(1 + groups.size() * Long.BYTES).put((byte) (plain ? 1 : 0));
      groups.stream().sorted().forEach(bytes::putLong); // the same bytes in all replicas
      return bytes.array();
    }

    static Stored of(byte[] value) {
      var bytes = ByteBuffer.wrap(value);
      if (value.length % Long.BYTES != 1 || value[0] < 0 || value[0] > 1) throw new IllegalStateException("what is stored for another range in " + value.length + " bytes");
      boolean plain = bytes.get() == 1;
      var groups = new HashSet<Long>();
      while (bytes.hasRemaining()) groups.add(bytes.getLong());
      return new Stored(plain, groups);
    }
  }

  /** A session of another range of which something is known here. */
  public record Publisher(SessionKey session, long birth) {}

  /**
   * A session of another range of which nothing more has to be known.
   *
   * @param epoch the latest that is known of it
   * @param ended whether it has ended; if not, it has no open exchange
   */
  public record Over(SessionKey session, long birth, long epoch, boolean ended) {}

  /** Whether something of the message of an exchange is stored here. */
  public boolean has(SessionKey session, long birth, int packetId) {
    var held = sessions.get(session);
    return held != null && held.birth == birth && held.packetIds.containsKey(packetId);
  }

  /** What is stored here of the message of an exchange. */
  public Stored stored(SessionKey session, long birth, int packetId) {
    var held = sessions.get(session);
    return held == null || held.birth != birth ? Stored.NOTHING : held.packetIds.getOrDefault(packetId, Stored.NOTHING);
  }

  /** Whether something has come from a later connection of the same client, so that what comes with this epoch comes late. */
  public boolean isLate(SessionKey session, long epoch) {
    var held = sessions.get(session);
    return held != null && held.epoch > epoch;
  }

  /** Notes that something has come with this epoch, which is not late. */
  public void hear(RangeWriter out, ShardInterval interval, SessionKey session, long birth, long epoch) {
    var held = sessions.get(session);
    if (held != null && held.birth != birth) {
      remove(out, interval, session, held);
      held = null;
    }
    boolean known = held != null;
    if (held == null) held = new Held(birth);
    if (known && held.epoch == epoch) return;
    held.epoch = epoch;
    if (!known) sessions.put(session, held);
    out.put(SessionKeys.foreignEpoch(interval.homeOf(session), session, birth), ByteBuffer.allocate(Long.BYTES).putLong(epoch).array());
  }

  /** Adds what is stored now of an exchange of a connection that was {@linkplain #hear heard} of. */
  public void add(RangeWriter out, ShardInterval interval, SessionKey session, long birth, int packetId, Stored stored) {
    put(session, birth, packetId, stored);
    out.put(SessionKeys.foreignExchange(interval.homeOf(session), session, birth, packetId), stored.toBytes());
  }

  /** Restores an exchange from its row. */
  public void restore(SessionKey session, long birth, int packetId, byte[] value) {
    put(session, birth, packetId, Stored.of(value));
  }

  private void put(SessionKey session, long birth, int packetId, Stored stored) {
    var held = held(session, birth);
    if (held.packetIds.isEmpty()) open.incrementAndGet();
    var before = held.packetIds.put(packetId, stored);
    takes(held, stored.memory() - (before == null ? 0 : before.memory()));
  }

  private void takes(Held held, int bytes) {
    int now = held.memory + bytes;
    held.memory = now;
    memory.addAndGet(bytes);
  }

  /** Restores the latest epoch of a session from its row. */
  public void restoreEpoch(SessionKey session, long birth, byte[] value) {
    if (value.length != Long.BYTES) throw new IllegalStateException("an epoch of " + value.length + " bytes");
    held(session, birth).epoch = ByteBuffer.wrap(value).getLong();
  }

  private Held held(SessionKey session, long birth) {
    var held = sessions.computeIfAbsent(session, _ -> new Held(birth));
    if (held.birth != birth) throw new IllegalStateException("two sessions of " + session + " in another range: " + held.birth + " and " + birth);
    return held;
  }

  /** Removes an exchange that its publisher has released. */
  public void remove(RangeWriter out, ShardInterval interval, SessionKey session, long birth, int packetId) {
    var held = sessions.get(session);
    if (held == null || held.birth != birth) return;
    var removed = held.packetIds.remove(packetId);
    if (removed == null) return;
    takes(held, -removed.memory());
    if (held.packetIds.isEmpty()) open.decrementAndGet();
    out.delete(SessionKeys.foreignExchange(interval.homeOf(session), session, birth, packetId));
  }

  /** Removes all that is known of a session, unless more has come since it was found to be over. */
  public void remove(RangeWriter out, ShardInterval interval, Over over) {
    var held = sessions.get(over.session());
    if (held == null || held.birth != over.birth() || held.epoch != over.epoch()) return;
    if (over.ended() || held.packetIds.isEmpty()) remove(out, interval, over.session(), held);
  }

  private void remove(RangeWriter out, ShardInterval interval, SessionKey session, Held held) {
    int shard = interval.homeOf(session);
    sessions.remove(session);
    if (!held.packetIds.isEmpty()) open.decrementAndGet();
    takes(held, -held.memory);
    for (int packetId : held.packetIds.keySet()) out.delete(SessionKeys.foreignExchange(shard, session, held.birth, packetId));
    out.delete(SessionKeys.foreignEpoch(shard, session, held.birth));
  }

  /**
   * Looks at all sessions and answers some that are over: those that have ended, and those without an open exchange. On the timer thread.
   *
   * @param lives whether a session with this birth exists
   * @param looks how often a session must have been found like this before, without a change in between
   * @param max the most to answer
   */
  public List<Over> lookForOver(BiPredicate<SessionKey, Long> lives, int looks, int max) {
    var over = new ArrayList<Over>();
    sessions.forEach(
        (session, held) -> {
          boolean ended = !lives.test(session, held.birth);
          boolean longEnough = held.found(ended) >= looks;
          if (longEnough && over.size() < max && (ended || held.packetIds.isEmpty())) over.add(new Over(session, held.birth, held.foundEpoch, ended));
        });
    return over;
  }

  /** Some of the sessions, in turn: all of them are answered before one is again. On the timer thread. */
  public List<Publisher> next(int max) {
    if (!left.hasNext()) left = sessions.entrySet().iterator();
    var some = new ArrayList<Publisher>();
    while (some.size() < max && left.hasNext()) {
      var each = left.next();
      some.add(new Publisher(each.getKey(), each.getValue().birth));
    }
    return some;
  }

  /** Whether anything is known of a session with this key. */
  public boolean knows(SessionKey session) {
    return sessions.containsKey(session);
  }

  /** Estimated memory of all exchanges. */
  public long memory() {
    return memory.get();
  }

  /** The same of one session. */
  public int memoryOf(SessionKey session) {
    var held = sessions.get(session);
    return held == null ? 0 : held.memory;
  }

  /** How many sessions have an open exchange here. */
  public int open() {
    return open.get();
  }

  /** How many sessions there are of which an epoch is known. */
  public int size() {
    return sessions.size();
  }

  public void clear() {
    sessions.clear();
    open.set(0);
    memory.set(0);
  }
}
