package dunlin.retain;

import dunlin.model.Publication;
import java.util.ArrayList;
import java.util.List;

/** The commands in the log of a retain range. */
sealed interface RetainCommand {
  /**
   * Sets the retained message of a topic; a message without a payload is refused when it is applied.
   *
   * @param bounds from the proposer's settings, since replicas may have different ones; with several ranges, this
   *     range's share
   */
  record Set(RetainBounds bounds, Publication message) implements RetainCommand {}

  /**
   * Sets the retained message of a topic that has none, or one that has expired.
   *
   * @param nowMillis the proposer's clock
   * @param bounds as of {@link Set}
   */
  record Add(long nowMillis, RetainBounds bounds, Publication message) implements RetainCommand {}

  /** Removes the retained message of a topic [MQTT-3.3.1-6]. */
  record Clear(byte[] key) implements RetainCommand {}

  /**
   * Removes those of these topics' messages that have expired.
   *
   * @param nowMillis the proposer's clock. Expiry is checked again when the command is applied: by then the topic may
   *     have another message, even one accepted in the same millisecond
   */
  record RemoveExpired(long nowMillis, List<byte[]> keys) implements RetainCommand {
    /**
     * The most rows that are read while the command is applied, which delays later commands by less than a millisecond.
     * Further keys are ignored.
     */
    static final int KEYS_MAX = 64;

    /** The target size of a command, which one key may exceed. */
    private static final int BYTES_MAX = 64 << 10;

    public RemoveExpired {
      keys = List.copyOf(keys);
    }

    /** Collects the keys of one command. */
    static final class Keys {
      private final List<byte[]> keys = new ArrayList<>();
      private int bytes;

      boolean full() {
        return keys.size() == KEYS_MAX || bytes >= BYTES_MAX;
      }

      void add(byte[] key) {
        keys.add(key);
        bytes += key.length;
      }

      List<byte[]> list() {
        return keys;
      }
    }
  }
}
