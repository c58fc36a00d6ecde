package dunlin.links;

import java.util.Optional;
import java.util.UUID;

/** Where the other side of a link is, as far as the dialling side knows; it may move, for example with the leadership of a range. */
@FunctionalInterface
public interface Whereabouts {
  /** Whom to dial next; empty while that is unknown. Called before each stream on the link's thread. */
  Optional<LinkPeer> next();

  /**
   * The node that the other side is surely on, though it may not accept links there yet; empty where that is unknown. Any thread, often; must not block.
   */
  default Optional<UUID> surely() {
    return Optional.empty();
  }

  /** Whether the other side is surely not on a node any more. A few times a second, on any thread; must not block. */
  default boolean isNot(UUID node) {
    return surely().filter(present -> !present.equals(node)).isPresent();
  }
}
