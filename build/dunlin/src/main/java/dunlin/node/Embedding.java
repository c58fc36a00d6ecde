package dunlin.node;

import dunlin.broker.ConnectionEvent;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.runtime.Surroundings;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the embedding application passes to its node.
 *
 * @param registry receives the node's meters while it runs
 * @param listener receives connection events
 * @param onFailure receives the failure of a store
 * @param connections the connections between its tiers
 * @param surroundings what a test may replace of the machine
 */
public record Embedding(
    Authenticators authenticators,
    @Nullable MeterRegistry registry,
    @Nullable Consumer<ConnectionEvent> listener,
    Consumer<RuntimeException> onFailure,
    TierConnections connections,
    Surroundings surroundings) {
  /** For a process that only runs a node. */
  public static Embedding none(Consumer<RuntimeException> onFailure) {
    return new Embedding(Authenticators.none(), null, null, onFailure, TierConnections.direct(), Surroundings.machine());
  }
}
