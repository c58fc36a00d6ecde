package dunlin.store;

import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** This replica does not lead its range, so it takes no commands and gives no barrier. Nothing has been done. */
public final class NotLeaderException extends StoreException {
  private final @Nullable UUID leader;

  public NotLeaderException(String range, Optional<UUID> leader) {
    super("range '" + range + "' is not led here" + leader.map(node -> ", but by node " + node).orElse(", its leader is unknown"));
    this.leader = leader.orElse(null);
  }

  /** The node that this replica follows; empty while there is none, or while this one is about to lead or to stop leading. */
  public Optional<UUID> leader() {
    return Optional.ofNullable(leader);
  }
}
