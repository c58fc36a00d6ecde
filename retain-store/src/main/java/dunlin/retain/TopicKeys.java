package dunlin.retain;

import dunlin.model.Publication;
import dunlin.retain.RetainClient.Cursor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The keys of rows and of the topic index: a tenant and a topic name, such that every branch of the topic tree is one interval. */
public final class TopicKeys {
  /*
   * Layout: length of the tenant (2 bytes) | tenant | topic name with 0x00 for each '/'.
   *
   * A topic name has no U+0000 [MQTT-4.7.3-2], so the mapping is reversible, and no byte sorts before it: a topic is
   * followed by its children, and these by its next sibling. So "a/#" is the interval from "a" to "a" + 0x01, and a
   * seek to the latter finds what follows the branch of "a". In plain ASCII order "a!" would be between "a" and "a/b".
   */
  static final byte SEPARATOR = 0;

  /** Appended to a topic's key, it gives the first possible key after the topic's branch. */
  static final byte AFTER_BRANCH = 1;

  private static final int LENGTH_BYTES = 2;

  private TopicKeys() {}

  /** The prefix of all keys of a tenant. */
  static byte[] prefix(String tenant) {
    byte[] name = encodedTenant(tenant);
    byte[] prefix = new byte[LENGTH_BYTES + name.length];
    writePrefix(name, prefix);
    return prefix;
  }

  /** The key of a message's topic, which has one ({@link #hasKey}). */
  public static byte[] of(Publication message) {
    byte[] tenant = encodedTenant(message.tenant());
    byte[] key = new byte[LENGTH_BYTES + tenant.length + message.topicLength()];
    int at = writePrefix(tenant, key);
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) {
      assert body[i] != SEPARATOR : "U+0000 in a topic name";
      key[at + i] = body[i] == '/' ? SEPARATOR : body[i];
    }
    return key;
  }

  /** The key of a topic, or the common prefix of the keys of all topics with this prefix. */
  public static byte[] of(String tenant, String topic) {
    byte[] prefix = prefix(tenant);
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] key = Arrays.copyOf(prefix, prefix.length + name.length);
    for (int i = 0; i < name.length; i++) key[prefix.length + i] = name[i] == '/' ? SEPARATOR : name[i];
    return key;
  }

  /** Whether the message's topic name has a unique key: it has no U+0000. */
  public static boolean hasKey(Publication message) {
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) if (body[i] == SEPARATOR) return false;
    return true;
  }

  /** The lowest key of which a page of {@link RetainClient#find} may have the message: it says which range has to be asked. */
  public static byte[] first(String tenant, String filter, @Nullable Cursor after) {
    var seek = seek(tenant, filter, after);
    return Arrays.copyOf(seek.target(), seek.targetLength());
  }

  static FilterSeek seek(String tenant, String filter, @Nullable Cursor after) {
    var seek = new FilterSeek(tenant, filter);
    if (after != null) seek.from(after.key());
    return seek;
  }

  static boolean begins(byte[] key, byte[] prefix) {
    return key.length >= prefix.length && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  /** The lowest key that sorts after this one. */
  static byte[] following(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /** The tenant of a row's key. */
  static String tenant(byte[] key) {
    return new String(key, LENGTH_BYTES, tenantLength(key), StandardCharsets.UTF_8);
  }

  /** The topic name of a row's key. */
  static String topic(byte[] key) {
    int begin = LENGTH_BYTES + tenantLength(key);
    byte[] name = Arrays.copyOfRange(key, begin, key.length);
    for (int i = 0; i < name.length; i++) if (name[i] == SEPARATOR) name[i] = '/';
    return new String(name, StandardCharsets.UTF_8);
  }

  private static int tenantLength(byte[] key) {
    return Short.toUnsignedInt(ByteBuffer.wrap(key).getShort());
  }

  private static byte[] encodedTenant(String tenant) {
    byte[] name = tenant.getBytes(StandardCharsets.UTF_8);
    if (name.length > 0xFFFF) throw new IllegalArgumentException("tenant of " + name.length + " bytes");
    return name;
  }

  private static int writePrefix(byte[] tenant, byte[] key) {
    key[0] = (byte) (tenant.length >> 8);
    key[1] = (byte) tenant.length;
    System.arraycopy(tenant, 0, key, LENGTH_BYTES, tenant.length);
    return LENGTH_BYTES + tenant.length;
  }
}
