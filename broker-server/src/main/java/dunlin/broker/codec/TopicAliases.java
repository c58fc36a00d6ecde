package dunlin.broker.codec;

import dunlin.model.Publication;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The topic aliases that this server uses towards one client; MQTT 5, section 3.3.2.3.4. */
public final class TopicAliases {
  /*
   * Owner: the connection's event loop. Only used for a client that accepts aliases.
   * A topic belongs, by its hash, to one set of 8 to 15 aliases (to the only set, if there are fewer aliases), which is
   * searched linearly. While its set has a free alias, a topic gets it at once. Afterwards, a topic must occur twice
   * without another topic of the same slot in between, and then takes the least recently used alias of its set. So a
   * few frequent topics soon have aliases, also when they change, and a stream of new topics costs neither bytes nor
   * memory.
   * Bounds: as many topic names as aliases; none of TOO_SHORT bytes or less, which would save nothing in two uses. No
   * memory before the first use.
   */
  private static final int TOO_SHORT = 6;
  private static final int WAYS = 8;
  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final int maximum;
  private final int sets;

  private byte[] @Nullable [] names = {};
  private int[] hashes = {};
  private int[] usedAt = {};
  private int[] seen = {};
  private int clock;

  // The decision of find(), which assigned() puts into effect.
  private int candidate;
  private int candidateHash;

  public TopicAliases(int maximum) {
    this.maximum = maximum;
    this.sets = Math.max(1, maximum / WAYS);
  }

  /**
   * The alias for a message: the negative of an alias that is already assigned to its topic, an alias to send together
   * with the topic name, or 0 for none. A new alias is assigned only once {@link #assigned} is called.
   */
  public int find(Publication message) {
    int length = message.topicLength();
    if (length <= TOO_SHORT) return 0;
    if (names.length == 0) makeRoom();
    byte[] body = message.body();
    int hash = hash(body, length);
    int set = (hash >>> 1) % sets;
    int from = (int) ((long) maximum * set / sets);
    int to = (int) ((long) maximum * (set + 1) / sets);
    int oldest = from;
    clock++;
    for (int i = from; i < to; i++) {
      byte[] name = names[i];
      if (name == null) {
        return propose(i, hash);
      } else if (hashes[i] == hash && name.length == length && Arrays.equals(name, 0, length, body, 0, length)) {
        usedAt[i] = clock;
        return -(i + 1);
      }
      if (usedAt[i] - usedAt[oldest] < 0) oldest = i;
    }
    int slot = hash & (seen.length - 1);
    if (seen[slot] == hash) return propose(oldest, hash);
    seen[slot] = hash;
    return 0;
  }

  private int propose(int index, int hash) {
    candidate = index;
    candidateHash = hash;
    return index + 1;
  }

  /** Assigns the alias of the last {@link #find}: its message is written with the topic name and the alias. */
  public void assigned(Publication message) {
    names[candidate] = Arrays.copyOf(message.body(), message.topicLength());
    hashes[candidate] = candidateHash;
    usedAt[candidate] = clock;
  }

  private void makeRoom() {
    names = new byte[maximum][];
    hashes = new int[maximum];
    usedAt = new int[maximum];
    seen = new int[Math.max(16, Integer.highestOneBit(maximum) * 2)];
  }

  private static int hash(byte[] body, int length) {
    long hash = length;
    int i = 0;
    for (; length - i >= 8; i += 8) hash = mixed(hash ^ (long) LONGS.get(body, i));
    for (; i < length; i++) hash = mixed(hash ^ body[i]);
    return (int) (hash >>> 32);
  }

  private static long mixed(long value) {
    long product = value * 0x9E3779B97F4A7C15L;
    return product ^ (product >>> 29);
  }
}
