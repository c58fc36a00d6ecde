package dunlin.broker.users;

import java.util.List;

/** The commands in the log of the range. */
public sealed interface AccessCommand {
  /**
   * Creates or replaces a row.
   *
   * @param bounds from the settings of the node that leads, since replicas may have different ones
   * @param secret becomes the secret of the range if it has none yet
   */
  record Put(AccessBounds bounds, AccessChange.Put change, byte[] secret) implements AccessCommand {}

  /** Deletes a row. */
  record Delete(AccessChange.Delete change) implements AccessCommand {}

  /**
   * Deletes those of these bans that have ended.
   *
   * @param nowMillis the clock of the node that leads
   */
  record Sweep(long nowMillis, List<AccessEntry.RowKey> bans) implements AccessCommand {
    /** The most bans of one command. */
    static final int BANS_MAX = 256;

    public Sweep {
      bans = List.copyOf(bans);
    }
  }
}
