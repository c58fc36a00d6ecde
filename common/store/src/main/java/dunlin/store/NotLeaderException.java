package dunlin.store;

import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** This replica does not lead its range, so it accepts no commands and no read barriers. Nothing has been done. */
public final class NotLeaderException extends StoreException {
  private final @Nullable UUID leader;

  public NotLeaderException(String range, Optional<UUID> leader) {
    super("range '" + range + "' is not led here" + leader.map(node -> ", but by node " + node).orElse(", its leader is unknown"));
    this.leader = leader.orElse(null);
  }

  /** The leader that this replica follows; empty while there is none, and while this replica is gaining or losing the leadership. */
  public Optional<UUID> leader() {
    return Optional.ofNullable(leader);
  }
}
