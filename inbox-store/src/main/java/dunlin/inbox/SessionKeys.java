package dunlin.inbox;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a session range: tenant first, texts ended by U+0000, which MQTT allows in none of them, numbers big-endian.
 *
 * <pre>
 *   0 e | 0 l                                      counters, limits (no tenant is empty)
 *   tenant 0 b id                                  body of a message that several inboxes hold, or that came through a group
 *   tenant 0 g filter 0 1                          group
 *   tenant 0 g filter 0 2 birth sequence           header of a message in a group's inbox
 *   tenant 0 s client 0 1                          session record: owner, epoch, expiry
 *   tenant 0 s client 0 2                          its cursor: the next sequence, when no message row tells
 *   tenant 0 s client 0 3 filter                   subscription
 *   tenant 0 s client 0 4 packet identifier        QoS 2 exchange that the client began
 *   tenant 0 s client 0 5 birth sequence           header of a message in its inbox
 *   tenant 0 s client 0 6 epoch                    will of the connection with that epoch
 *   tenant 0 t client 0 5 birth sequence           content of a message that only this inbox holds
 * </pre>
 *
 * <p>The birth of a session or group keeps its messages apart from those of its predecessor, which are deleted step by
 * step after the predecessor has ended. What is large, bodies and contents, stands apart from all that a start reads.
 */
final class SessionKeys {
  static final byte[] COUNTERS = {0, 'e'};
  static final byte[] LIMITS = {0, 'l'};
  static final byte BODY = 'b';
  static final byte GROUP = 'g';
  static final byte SESSION = 's';
  static final byte CONTENT = 't';

  static final int GROUP_RECORD = 1;
  static final int GROUP_MESSAGE = 2;

  static final int RECORD = 1;
  static final int CURSOR = 2;
  static final int SUBSCRIPTION = 3;
  static final int EXCHANGE = 4;
  static final int MESSAGE = 5;
  static final int WILL = 6;

  private SessionKeys() {}

  static byte[] body(String tenant, long id) {
    byte[] name = utf8(tenant);
    return ByteBuffer.allocate(name.length + 10).put(name).put((byte) 0).put(BODY).putLong(id).array();
  }

  static byte[] group(GroupKey group) {
    return group(group, GROUP_RECORD, 0).array();
  }

  /** What the keys of a group's messages begin with. */
  static byte[] groupMessages(GroupKey group, long birth) {
    return group(group, GROUP_MESSAGE, 8).putLong(birth).array();
  }

  private static ByteBuffer group(GroupKey group, int kind, int more) {
    return named(group.tenant(), GROUP, group.filter().text(), kind, more);
  }

  static byte[] record(SessionKey session) {
    return session(session, RECORD, 0).array();
  }

  static byte[] cursor(SessionKey session) {
    return session(session, CURSOR, 0).array();
  }

  static byte[] subscription(SessionKey session, String filterText) {
    byte[] filter = utf8(filterText);
    return session(session, SUBSCRIPTION, filter.length).put(filter).array();
  }

  static byte[] exchange(SessionKey session, int packetId) {
    return session(session, EXCHANGE, 2).putShort((short) packetId).array();
  }

  static byte[] will(SessionKey session, long epoch) {
    return session(session, WILL, 8).putLong(epoch).array();
  }

  /** What the keys of a session's messages begin with. */
  static byte[] sessionMessages(SessionKey session, long birth) {
    return session(session, MESSAGE, 8).putLong(birth).array();
  }

  private static ByteBuffer session(SessionKey session, int kind, int more) {
    return named(session.tenant(), SESSION, session.clientId(), kind, more);
  }

  private static ByteBuffer named(String tenant, byte space, String name, int kind, int more) {
    byte[] first = utf8(tenant);
    byte[] second = utf8(name);
    return ByteBuffer.allocate(first.length + second.length + 4 + more)
        .put(first)
        .put((byte) 0)
        .put(space)
        .put(second)
        .put((byte) 0)
        .put((byte) kind);
  }

  /** The key of a message: the prefix of its inbox and its sequence. */
  static byte[] message(byte[] prefix, long sequence) {
    byte[] key = Arrays.copyOf(prefix, prefix.length + 8);
    ByteBuffer.wrap(key).putLong(prefix.length, sequence);
    return key;
  }

  /** The key of a message's content, which has its header's key in another space. */
  static byte[] content(byte[] messageKey) {
    byte[] key = messageKey.clone();
    key[spaceOf(key)] = CONTENT;
    return key;
  }

  /**
   * Where a start goes on behind rows that it does not read, as the first of them tells by its key; null when it reads this one.
   */
  static byte @Nullable [] behindUnread(byte[] key) {
    if (key[0] == 0) return null;
    int space = spaceOf(key);
    byte kind = key[space];
    if (kind != BODY && kind != CONTENT) return null;
    byte[] behind = Arrays.copyOf(key, space + 1);
    behind[space]++;
    return behind;
  }

  private static int spaceOf(byte[] key) {
    int at = 0;
    while (key[at] != 0) at++;
    return at + 1;
  }

  static long sequence(byte[] messageKey) {
    return ByteBuffer.wrap(messageKey).getLong(messageKey.length - 8);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * A key taken apart, for building the indexes at open.
   *
   * @param space {@link #GROUP} or {@link #SESSION}
   * @param name the filter's text or the client identifier
   * @param rest what stands behind the kind
   */
  record Parsed(String tenant, byte space, String name, int kind, ByteBuffer rest) {
    static Parsed of(byte[] key) {
      int tenantEnd = zeroFrom(key, 0);
      String tenant = text(key, 0, tenantEnd);
      byte space = key[tenantEnd + 1];
      int nameEnd = zeroFrom(key, tenantEnd + 2);
      if (nameEnd + 1 >= key.length) throw new IllegalStateException("key of " + key.length + " bytes has no kind");
      return new Parsed(tenant, space, text(key, tenantEnd + 2, nameEnd), key[nameEnd + 1], rest(key, nameEnd + 2));
    }

    private static int zeroFrom(byte[] key, int from) {
      for (int i = from; i < key.length - 1; i++) if (key[i] == 0) return i;
      throw new IllegalStateException("key of " + key.length + " bytes has an endless text");
    }

    private static String text(byte[] key, int from, int to) {
      return new String(key, from, to - from, StandardCharsets.UTF_8);
    }

    private static ByteBuffer rest(byte[] key, int from) {
      return ByteBuffer.wrap(key, from, key.length - from);
    }
  }
}
