package dunlin.broker.users;

import java.util.List;
import java.util.Optional;

/**
 * Changes of the range, in their order.
 *
 * @param fromStart whether this is the beginning of all rows, so that the copy of who asked must be forgotten
 * @param base to be passed with the next question
 * @param upTo the version that a copy has with these changes
 * @param complete whether there were no further changes
 * @param secret of the range; empty while it has none
 */
public record AccessPage(boolean fromStart, long base, long upTo, boolean complete, byte[] secret, List<Change> changes) {
  public AccessPage {
    changes = List.copyOf(changes);
  }

  /** A row as it is now; empty when it was deleted. */
  public record Change(AccessEntry.RowKey key, Optional<AccessRow> row) {}
}
