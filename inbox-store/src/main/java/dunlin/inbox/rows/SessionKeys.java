package dunlin.inbox.rows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a session range: two bytes for the shard, then the tenant. Texts are terminated by U+0000, which MQTT
 * allows in none of them; numbers are big-endian. So a range can be split between any two shards.
 *
 * <pre>
 *   0 e                                      counters of the shard (no tenant is empty)
 *   0 f order                                connection whose further messages are refused (fence)
 *   0 l                                      limits
 *   tenant 0 b id                            body of a message that several inboxes hold, or that came through a group
 *   tenant 0 g filter 0 1                    group
 *   tenant 0 g filter 0 2                    summary of its inbox, while there is a message in it
 *   tenant 0 g filter 0 3 birth              summary of the queue of one of its members, while there is a message in it
 *   tenant 0 g filter 0 4 number             summary of a transfer to members in another range
 *   tenant 0 h filter 0 birth sequence       header of a message in a group's inbox, or in a member's queue
 *   tenant 0 l birth                         summary of the messages that an ended session or group has left
 *   tenant 0 m client 0 birth sequence       header of a message in a session's inbox
 *   tenant 0 r id                            how many headers refer to a body, when several may
 *   tenant 0 s client 0 1                    session record: user, owner, epoch, expiry
 *   tenant 0 s client 0 2                    summary of its inbox, once there was a message
 *   tenant 0 s client 0 3 filter             subscription
 *   tenant 0 s client 0 4 packet identifier  QoS 2 exchange in which the client is the sender
 *   tenant 0 s client 0 5 filter             summary of a group's messages that it has not acknowledged
 *   tenant 0 s client 0 6 epoch              will of the connection with that epoch
 *   tenant 0 t client 0 birth sequence       content of a message that only this inbox holds
 *   tenant 0 w client 0 epoch                will of a session of another range, whose message is stored in this one
 *   tenant 0 x client 0 birth 0              latest epoch of a session of another range that publishes with QoS 2 (no packet identifier is 0)
 *   tenant 0 x client 0 birth packet id.     QoS 2 exchange of a session of another range, whose message is stored in this one
 *   tenant 0 y filter 0 number               transfer of a group's messages that was accepted from another range
 * </pre>
 *
 * <p>A session's shard follows from its tenant and client identifier, a group's from its tenant and filter. The rows of a message are in
 * the shard of its inbox. A body is in the shard that its number names: that of the sessions whose headers refer to it, or for a message
 * that came through a group, that of the group, wherever its header goes. Limits and fences belong to the range and are in its first shard. An exchange or a will of
 * another range's session is in a shard that follows from its tenant and client identifier.
 *
 * <p>The birth of a session, group or queue distinguishes its messages from those of its predecessor, which are deleted step by
 * step after the predecessor has ended. A start reads the spaces g, l and s, which have a few rows for each session and group,
 * and skips the others, which have rows for each message.
 */
public final class SessionKeys {
  public static final byte COUNTERS = 'e';
  public static final byte FENCE = 'f';
  public static final byte LIMITS = 'l';
  public static final byte BODY = 'b';
  public static final byte GROUP = 'g';
  public static final byte GROUP_MESSAGE = 'h';
  public static final byte LEFT = 'l'; // of a tenant
  public static final byte MESSAGE = 'm';
  public static final byte REFERENCES = 'r';
  public static final byte SESSION = 's';
  static final byte CONTENT = 't';
  public static final byte FOREIGN_WILL = 'w';
  public static final byte FOREIGN_EXCHANGE = 'x';
  public static final byte ACCEPTED_TRANSFER = 'y';

  public static final int GROUP_RECORD = 1;
  public static final int GROUP_INBOX = 2;
  public static final int GROUP_QUEUE = 3;
  public static final int GROUP_TRANSFER = 4;

  public static final int RECORD = 1;
  public static final int INBOX = 2;
  public static final int SUBSCRIPTION = 3;
  public static final int EXCHANGE = 4;
  public static final int OUTSTANDING = 5;
  public static final int WILL = 6;

  private static final int SHARD_BYTES = 2;

  private SessionKeys() {}

  /** The lowest key of a shard, where ranges are cut. */
  public static byte[] firstOf(int shard) {
    return ByteBuffer.allocate(SHARD_BYTES).putShort((short) shard).array();
  }

  /** The counters of a shard. */
  public static byte[] counters(int shard) {
    return ofShard(shard, COUNTERS, 0).array();
  }

  /** The limits of a range that begins with a shard. */
  public static byte[] limits(int firstShard) {
    return ofShard(firstShard, LIMITS, 0).array();
  }

  /**
   * A fence of a range, numbered in the order in which fences were set. The first shard of the range gave out this
   * number.
   */
  public static byte[] fence(long order) {
    return ofShard(ShardCounters.shardOf(order), FENCE, 8).putLong(order).array();
  }

  private static ByteBuffer ofShard(int shard, byte space, int more) {
    return ByteBuffer.allocate(SHARD_BYTES + 2 + more).putShort((short) shard).put((byte) 0).put(space);
  }

  /** The shard that a row belongs to. */
  public static int shard(byte[] key) {
    return Short.toUnsignedInt(ByteBuffer.wrap(key).getShort());
  }

  /** Whether a row belongs to its shard or range rather than to a tenant. */
  public static boolean isOfShard(byte[] key) {
    return key[SHARD_BYTES] == 0;
  }

  public static long fenceOrder(byte[] key) {
    return lastNumber(key);
  }

  public static byte[] body(String tenant, long id) {
    return numbered(BodyReferences.shardOf(id), tenant, BODY, id);
  }

  /** The count of the headers that refer to a body. */
  static byte[] references(String tenant, long bodyId) {
    return numbered(BodyReferences.shardOf(bodyId), tenant, REFERENCES, bodyId);
  }

  /** The first key behind the reference counts of all bodies of a tenant in the shard of this one. */
  static byte[] behindReferences(String tenant, long bodyId) {
    return numbered(BodyReferences.shardOf(bodyId), tenant, REFERENCES, Long.MAX_VALUE);
  }

  /** The summary of the messages that an ended session or group has left. */
  public static byte[] left(String tenant, long birth) {
    return numbered(ShardCounters.shardOf(birth), tenant, LEFT, birth);
  }

  private static byte[] numbered(int shard, String tenant, byte space, long number) {
    byte[] name = utf8(tenant);
    return ByteBuffer.allocate(SHARD_BYTES + name.length + 10)
        .putShort((short) shard)
        .put(name)
        .put((byte) 0)
        .put(space)
        .putLong(number)
        .array();
  }

  public static byte[] group(int shard, GroupKey group) {
    return named(shard, group.tenant(), GROUP, group.filter().text(), 1).put((byte) GROUP_RECORD).array();
  }

  public static byte[] groupInbox(int shard, GroupKey group) {
    return named(shard, group.tenant(), GROUP, group.filter().text(), 1).put((byte) GROUP_INBOX).array();
  }

  /** The summary of the queue of an ordered group's member, present or former. */
  public static byte[] groupQueue(GroupKey group, long birth) {
    return named(ShardCounters.shardOf(birth), group.tenant(), GROUP, group.filter().text(), 9).put((byte) GROUP_QUEUE).putLong(birth).array();
  }

  /** The summary of a transfer of a group's messages to another range. */
  public static byte[] groupTransfer(GroupKey group, long number) {
    return named(ShardCounters.shardOf(number), group.tenant(), GROUP, group.filter().text(), 9).put((byte) GROUP_TRANSFER).putLong(number).array();
  }

  /** The row of a transfer that was accepted from another range. */
  public static byte[] acceptedTransfer(int shard, GroupKey group, long number) {
    return named(shard, group.tenant(), ACCEPTED_TRANSFER, group.filter().text(), 8).putLong(number).array();
  }

  /** The prefix of the keys of a group's messages, or of those in a member's queue. */
  public static byte[] groupMessages(GroupKey group, long birth) {
    return named(ShardCounters.shardOf(birth), group.tenant(), GROUP_MESSAGE, group.filter().text(), 8).putLong(birth).array();
  }

  public static byte[] record(int shard, SessionKey session) {
    return session(shard, session, RECORD, 0).array();
  }

  public static byte[] inbox(int shard, SessionKey session) {
    return session(shard, session, INBOX, 0).array();
  }

  public static byte[] subscription(int shard, SessionKey session, String filterText) {
    byte[] filter = utf8(filterText);
    return session(shard, session, SUBSCRIPTION, filter.length).put(filter).array();
  }

  public static byte[] exchange(int shard, SessionKey session, int packetId) {
    return session(shard, session, EXCHANGE, 2).putShort((short) packetId).array();
  }

  /** An exchange of a session in another range. */
  public static byte[] foreignExchange(int shard, SessionKey session, long birth, int packetId) {
    return named(shard, session.tenant(), FOREIGN_EXCHANGE, session.clientId(), 10).putLong(birth).putShort((short) packetId).array();
  }

  /** The latest epoch of a session in another range; the key that an exchange with packet identifier 0 would have. */
  public static byte[] foreignEpoch(int shard, SessionKey session, long birth) {
    return foreignExchange(shard, session, birth, 0);
  }

  /** The will of a connection of a session in another range. */
  public static byte[] foreignWill(int shard, SessionKey session, long epoch) {
    return named(shard, session.tenant(), FOREIGN_WILL, session.clientId(), 8).putLong(epoch).array();
  }

  /** The summary of a group's messages that a member has not acknowledged. */
  public static byte[] outstanding(int shard, SessionKey session, String filterText) {
    byte[] filter = utf8(filterText);
    return session(shard, session, OUTSTANDING, filter.length).put(filter).array();
  }

  public static byte[] will(SessionKey session, long epoch) {
    return session(ShardCounters.shardOf(epoch), session, WILL, 8).putLong(epoch).array();
  }

  /** The prefix of the keys of a session's messages. */
  public static byte[] sessionMessages(SessionKey session, long birth) {
    return named(ShardCounters.shardOf(birth), session.tenant(), MESSAGE, session.clientId(), 8).putLong(birth).array();
  }

  /** The first key of the sessions of a tenant whose client identifiers begin with a prefix, in a shard; or of the groups whose filters do. */
  public static byte[] allOf(int shard, String tenant, byte space, String prefix) {
    byte[] whole = named(shard, tenant, space, prefix, 0).array();
    return Arrays.copyOf(whole, whole.length - 1);
  }

  /** The first key behind all of these: no text in UTF-8 has such an octet. */
  public static byte[] behindAllOf(int shard, String tenant, byte space, String prefix) {
    byte[] behind = named(shard, tenant, space, prefix, 0).array();
    behind[behind.length - 1] = (byte) 0xFF;
    return behind;
  }

  /** The first key behind all rows of a session or group: there are fewer kinds. */
  public static byte[] behindOne(int shard, String tenant, byte space, String name) {
    return named(shard, tenant, space, name, 1).put(Byte.MAX_VALUE).array();
  }

  private static ByteBuffer session(int shard, SessionKey session, int kind, int more) {
    return named(shard, session.tenant(), SESSION, session.clientId(), 1 + more).put((byte) kind);
  }

  private static ByteBuffer named(int shard, String tenant, byte space, String name, int more) {
    byte[] first = utf8(tenant);
    byte[] second = utf8(name);
    return ByteBuffer.allocate(SHARD_BYTES + first.length + second.length + 3 + more)
        .putShort((short) shard)
        .put(first)
        .put((byte) 0)
        .put(space)
        .put(second)
        .put((byte) 0);
  }

  /** The key of a message: the prefix of its inbox and its sequence. */
  public static byte[] message(byte[] prefix, long sequence) {
    byte[] key = Arrays.copyOf(prefix, prefix.length + 8);
    ByteBuffer.wrap(key).putLong(prefix.length, sequence);
    return key;
  }

  /** The key of a message's content: that of its header, in another space. */
  public static byte[] content(byte[] messageKey) {
    byte[] key = messageKey.clone();
    key[spaceOf(key)] = CONTENT;
    return key;
  }

  /**
   * The key at which a start continues behind rows that it does not read, given the key of the first of them; null if
   * it reads this row.
   */
  public static byte @Nullable [] behindUnread(byte[] key) {
    if (isOfShard(key)) return null;
    int at = spaceOf(key);
    byte space = key[at];
    boolean unread = space == BODY || space == GROUP_MESSAGE || space == MESSAGE || space == REFERENCES || space == CONTENT;
    if (!unread) return null;
    byte[] behind = Arrays.copyOf(key, at + 1);
    behind[at]++;
    return behind;
  }

  /** The space of a row, of a tenant or of a shard. */
  public static byte space(byte[] key) {
    return key[spaceOf(key)];
  }

  private static int spaceOf(byte[] key) {
    int at = SHARD_BYTES;
    while (key[at] != 0) at++;
    return at + 1;
  }

  public static long sequence(byte[] messageKey) {
    return lastNumber(messageKey);
  }

  /** The birth in the prefix of message keys, or in the key of a leftover's or a queue's summary. */
  public static long birth(byte[] key) {
    return lastNumber(key);
  }

  public static long bodyId(byte[] referencesKey) {
    return lastNumber(referencesKey);
  }

  private static long lastNumber(byte[] key) {
    return ByteBuffer.wrap(key).getLong(key.length - 8);
  }

  public static String tenant(byte[] key) {
    return new String(key, SHARD_BYTES, spaceOf(key) - 1 - SHARD_BYTES, StandardCharsets.UTF_8);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * The parts of the key of a group's or session's row, a message's header, a foreign exchange or will, or an accepted transfer.
   *
   * @param space {@link #GROUP}, {@link #SESSION}, {@link #GROUP_MESSAGE}, {@link #MESSAGE}, {@link #FOREIGN_EXCHANGE}, {@link #FOREIGN_WILL}
   *     or {@link #ACCEPTED_TRANSFER}
   * @param name the filter's text or the client identifier
   * @param kind the kind of row of a group or session; 0 for the other spaces
   * @param rest what follows the kind: for a header its birth and sequence, for a foreign exchange its session's birth
   *     and packet identifier, or 0 for the session's epoch, for a foreign will its epoch, for a transfer its number
   */
  public record Parsed(int shard, String tenant, byte space, String name, int kind, ByteBuffer rest) {
    public static Parsed of(byte[] key) {
      int shard = SessionKeys.shard(key);
      int tenantEnd = zeroFrom(key, SHARD_BYTES);
      String tenant = text(key, SHARD_BYTES, tenantEnd);
      byte space = key[tenantEnd + 1];
      int nameEnd = zeroFrom(key, tenantEnd + 2);
      String name = text(key, tenantEnd + 2, nameEnd);
      if (space == GROUP_MESSAGE || space == MESSAGE || space == FOREIGN_EXCHANGE || space == FOREIGN_WILL || space == ACCEPTED_TRANSFER)
        return new Parsed(shard, tenant, space, name, 0, rest(key, nameEnd + 1));
      if (nameEnd + 1 >= key.length) throw new IllegalStateException("key of " + key.length + " bytes has no kind");
      return new Parsed(shard, tenant, space, name, key[nameEnd + 1], rest(key, nameEnd + 2));
    }

    private static int zeroFrom(byte[] key, int from) {
      for (int i = from; i < key.length - 1; i++) if (key[i] == 0) return i;
      throw new IllegalStateException("key of " + key.length + " bytes has a text without an end");
    }

    private static String text(byte[] key, int from, int to) {
      return new String(key, from, to - from, StandardCharsets.UTF_8);
    }

    private static ByteBuffer rest(byte[] key, int from) {
      return ByteBuffer.wrap(key, from, key.length - from);
    }
  }
}
