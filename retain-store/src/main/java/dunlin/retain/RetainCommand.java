package dunlin.retain;

import dunlin.model.Publication;
import java.util.ArrayList;
import java.util.List;

/** What the log of the retain range holds. */
sealed interface RetainCommand {
  /**
   * Keeps a message with a payload in place of what its topic had; any other message is refused where it is applied.
   *
   * @param bounds by the proposer's settings, since replicas may differ in theirs; with several ranges, what they leave to this one
   */
  record Set(RetainBounds bounds, Publication message) implements RetainCommand {}

  /** Removes what a topic has [MQTT-3.3.1-6]. */
  record Clear(byte[] key) implements RetainCommand {}

  /**
   * Removes those of the messages whose Message Expiry Interval has passed.
   *
   * @param nowMillis the proposer's clock. It decides again at apply: by then another message may stand there, even one
   *     accepted in the same millisecond
   */
  record RemoveExpired(long nowMillis, List<byte[]> keys) implements RetainCommand {
    /**
     * So many rows are read while the command is applied; what waits behind it waits for less than a millisecond. Of keys beyond
     * these none is looked at.
     */
    static final int KEYS_MAX = 64;

    /** A command is not to be larger than an ordinary one; one key more is let in. */
    private static final int BYTES_MAX = 64 << 10;

    public RemoveExpired {
      keys = List.copyOf(keys);
    }

    /** Gathers the keys of one command. */
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
