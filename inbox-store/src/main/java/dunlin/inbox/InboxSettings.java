package dunlin.inbox;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import dunlin.store.RangeId;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Layout and bounds of the session tier.
 *
 * @param layout how sessions are divided; never changed in a cluster's life
 * @param messagesMax maximum number of messages in one inbox of a session or group, or in one queue of an ordered
 *     group's member
 * @param bytesMax maximum number of bytes of these messages
 * @param overflow what happens to a message that arrives at a full inbox
 * @param subscriptionsMax maximum number of subscriptions of one session
 * @param groupWindow maximum number of unacknowledged messages of a shared subscription's member; further messages wait
 *     in the group's inbox, or in an ordered group in that member's queue
 * @param sums bounds on all sessions together
 */
public record InboxSettings(
    Layout layout, int messagesMax, long bytesMax, OverflowPolicy overflow, int subscriptionsMax, int groupWindow, Sums sums) {

  /** Maximum number of shards. */
  public static final int SHARDS_MAX = 4_096;

  private static final int RANGES_MAX = 64;
  private static final long KIB = 1_024;
  private static final long TIB = KIB * KIB * KIB * KIB;

  private static final Setting<Long> SESSIONS_MAX =
      Setting.longInteger(
          "dunlin.session.sessions-max", 10_000_000, 1, 1_000_000_000,
          "Maximum number of durable sessions. Beyond it, clients that request a new one are refused.");
  public static final Setting<Integer> SHARDS =
      Setting.integer(
          "dunlin.inbox.shards", 16, 1, SHARDS_MAX, "Number of shards that durable sessions are divided into. Must be the same on"
              + " all nodes. It cannot be changed for an existing data directory: with another number the broker does not start.");
  public static final Setting<Integer> RANGES =
      Setting.integer(
          "dunlin.inbox.ranges", 1, 1, RANGES_MAX, "Number of ranges that hold the durable sessions. Each has a log of its own, and a thread that applies"
              + " it. In a cluster each has replicas and a leader of its own. At most the number of shards. Must be the same on all nodes. It cannot be changed for an existing data"
              + " directory: with another number the broker does not start.");
  private static final Setting<Integer> MESSAGES_MAX =
      Setting.integer("dunlin.inbox.messages-max", 100_000, 1, 100_000_000, "Maximum number of messages in one inbox: that of a"
          + " durable session, of a shared subscription with durable members, or of a durable member of an ordered one (`$oshare`).");
  private static final Setting<Long> BYTES_MAX =
      Setting.bytes("dunlin.inbox.bytes-max", 256 * KIB * KIB, KIB, TIB, "Maximum number of bytes of messages in one inbox: that of"
          + " a durable session, of a shared subscription with durable members, or of a durable member of an ordered one (`$oshare`).");
  private static final Setting<Long> TOTAL_BYTES_MAX =
      Setting.bytes("dunlin.inbox.total-bytes-max", 0, 0, TIB, "Maximum number of bytes of messages in all inboxes together. When it is"
          + " nearly used up, the inboxes that hold most count as full. 0: half of the size of the disk.");
  private static final Setting<Long> MEMORY_MAX =
      Setting.bytes("dunlin.inbox.memory-max", 0, 0, TIB, "Maximum amount of memory that all durable sessions and their subscriptions"
          + " take: 256 bytes for each, twice the lengths of a session's client identifier and user, and four times the length of a subscription's topic filter. Beyond it,"
          + " new sessions and subscriptions are refused with 0x97. QoS 2 exchanges that durable clients have not released may take a quarter as much in addition: 264 bytes for each,"
          + " and 64 for each shared subscription that its message has gone to. Each of `dunlin.inbox.ranges` has an equal part of that."
          + " When half of its part is nearly used up, further QoS 2 publishes of the clients that hold most are refused with 0x97 (MQTT 3: the connection is closed); each client may"
          + " hold 8 KiB in any case, and 48 MiB at most. SUBSCRIBE and UNSUBSCRIBE packets that are not answered may take an eighth as much in addition. When it is nearly used up,"
          + " large SUBSCRIBEs are refused with 0x83. 0: a quarter of the maximum heap.");
  private static final Setting<OverflowPolicy> OVERFLOW =
      Setting.choice("dunlin.inbox.overflow", OverflowPolicy.DROP_OLDEST, "What happens when a message arrives and the inbox of a durable session is full:"
          + " drop the oldest message, drop the new one, or reject the publish.");
  private static final Setting<Integer> GROUP_WINDOW =
      Setting.integer(
          "dunlin.inbox.group-window", 256, 1, 65_535,
          "Maximum number of unacknowledged messages of a durable member of a shared subscription. Further messages wait for any member; in an ordered"
              + " shared subscription (`$oshare`) they wait for that member.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL =
      List.of(SESSIONS_MAX, SHARDS, RANGES, MESSAGES_MAX, BYTES_MAX, TOTAL_BYTES_MAX, MEMORY_MAX, OVERFLOW, GROUP_WINDOW);

  /**
   * How sessions are divided.
   *
   * @param shards number of shards; tenant and client identifier determine the shard of a session, and each shard is
   *     one destination of the dist tier
   * @param ranges number of ranges, each of which holds an interval of the shards
   */
  public record Layout(int shards, int ranges) {
    public Layout {
      if (shards < 1 || shards > SHARDS_MAX) throw new IllegalArgumentException("shards " + shards);
      if (ranges < 1 || ranges > shards) throw new IllegalArgumentException("%d ranges of %d shards".formatted(ranges, shards));
    }

    /** The ranges in the store, in the order of their shards. */
    public List<RangeId> rangeIds() {
      return IntStream.range(0, ranges).mapToObj(number -> RangeId.numbered("sessions", number)).toList();
    }

    /** The first shard of a range, by the number of that; the number of shards for the number behind the last range. Sizes differ by at most one shard. */
    public int firstShard(int range) {
      return range * shards / ranges;
    }

    /** The number of the range that has a shard. */
    public int rangeOf(int shard) {
      if (shard < 0 || shard >= shards) throw new IllegalArgumentException("shard %d of %d".formatted(shard, shards));
      int range = ranges - 1;
      while (firstShard(range) > shard) range--;
      return range;
    }
  }

  /**
   * Bounds on all sessions together.
   *
   * @param sessions maximum number of durable sessions; further ones are refused at CONNECT
   * @param memory estimated bytes of the heap that sessions and their subscriptions take: 256 for each, plus twice the
   *     lengths of its client identifier and its user for a session, plus four times the length of its filter for a
   *     subscription; beyond, a new durable session or subscription is refused. Open QoS 2 exchanges may take a quarter
   *     as much beside it
   * @param messageBytes bytes of messages in all inboxes; once that many are stored, every inbox counts as full
   */
  public record Sums(long sessions, long memory, long messageBytes) {
    public Sums {
      if (sessions < 1) throw new IllegalArgumentException("sessions " + sessions);
      if (memory < 1) throw new IllegalArgumentException("memory " + memory);
      if (messageBytes < 1) throw new IllegalArgumentException("messageBytes " + messageBytes);
    }

    /** Bounds only the number of sessions. */
    public static Sums ofSessions(long sessions) {
      return new Sums(sessions, Long.MAX_VALUE, Long.MAX_VALUE);
    }
  }

  public InboxSettings {
    if (messagesMax < 1) throw new IllegalArgumentException("messagesMax " + messagesMax);
    if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
    if (subscriptionsMax < 1) throw new IllegalArgumentException("subscriptionsMax " + subscriptionsMax);
    if (groupWindow < 1 || groupWindow > 65_535) throw new IllegalArgumentException("groupWindow " + groupWindow);
  }

  /** The problems that keep a node with these settings from starting, one sentence each. */
  public static List<String> problems(Settings settings) {
    int ranges = settings.get(RANGES);
    int shards = settings.get(SHARDS);
    if (ranges <= shards) return List.of();
    return List.of("dunlin.inbox.ranges is %d, but there are only %d shards (dunlin.inbox.shards)".formatted(ranges, shards));
  }

  /** How sessions are divided by the settings, which have no {@link #problems}. */
  public static Layout layout(Settings settings) {
    return new Layout(settings.get(SHARDS), settings.get(RANGES));
  }

  /**
   * @param subscriptionsMax maximum number of subscriptions of one session, a setting of the frontend
   * @param heapBytes the maximum heap size of this process
   * @param diskBytes the size of the disk of the data directory
   */
  public static InboxSettings from(Settings settings, int subscriptionsMax, long heapBytes, long diskBytes) {
    long memory = settings.get(MEMORY_MAX);
    long messages = settings.get(TOTAL_BYTES_MAX);
    return new InboxSettings(
        layout(settings),
        settings.get(MESSAGES_MAX),
        settings.get(BYTES_MAX),
        settings.get(OVERFLOW),
        subscriptionsMax,
        settings.get(GROUP_WINDOW),
        new Sums(settings.get(SESSIONS_MAX), memory == 0 ? heapBytes / 4 : memory, messages == 0 ? diskBytes / 2 : messages));
  }

  /** The default settings, with 10,000 subscriptions per session and no bound on memory and disk. */
  public static InboxSettings defaults() {
    return new InboxSettings(
        new Layout(SHARDS.defaultValue(), RANGES.defaultValue()),
        MESSAGES_MAX.defaultValue(),
        BYTES_MAX.defaultValue(),
        OVERFLOW.defaultValue(),
        10_000,
        GROUP_WINDOW.defaultValue(),
        Sums.ofSessions(SESSIONS_MAX.defaultValue()));
  }

  public InboxLimits limits() {
    return new InboxLimits(messagesMax, bytesMax, overflow, subscriptionsMax, groupWindow, sums);
  }
}
