package dunlin.links;

import dunlin.runtime.LineLimit;
import dunlin.store.grpc.Caller;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lets only nodes of the cluster call, in the version of this one, and with the certificate of the node that each says to be. */
final class Callers {
  private static final Logger LOG = LoggerFactory.getLogger(Callers.class);

  private final String what;
  private final UUID node;
  private final Function<UUID, Optional<String>> hosts;
  private final Counter refused;
  private final LineLimit lines = new LineLimit(1, System::nanoTime);

  /**
   * @param what comes from them, for the log
   * @param node the id of this node
   * @param hosts the host of a node of the cluster, if this node knows it; any thread
   */
  Callers(String what, UUID node, Function<UUID, Optional<String>> hosts, MeterRegistry meters) {
    this.what = what;
    this.node = node;
    this.hosts = hosts;
    refused = Counter.builder("dunlin.links.refused").description("Streams from other processes that were refused").register(meters);
  }

  /** Why a call is refused; null when it is from a node of the cluster, for this one. */
  @Nullable Status wrong(ServerCall<?, ?> call, Metadata headers) {
    String version = headers.get(LinkWire.VERSION_KEY);
    String to = headers.get(LinkWire.NODE_KEY);
    if (!LinkWire.VERSION.equals(version)) {
      return Status.FAILED_PRECONDITION.withDescription("links of version %s are not known here, only of version %s".formatted(version, LinkWire.VERSION));
    }
    if (!node.toString().equals(to)) return Status.FAILED_PRECONDITION.withDescription("this is node %s, not %s".formatted(node, to));
    UUID caller = uuid(headers.get(LinkWire.FROM_KEY));
    Optional<String> host = caller == null ? Optional.empty() : hosts.apply(caller);
    if (caller == null || host.isEmpty()) return Status.UNAVAILABLE.withDescription("node %s knows no node %s".formatted(node, caller));
    if (Caller.of(call).belongsTo(caller, host.get())) return null;
    return Status.PERMISSION_DENIED.withDescription("the caller's certificate names neither node %s nor its host, %s".formatted(caller, host.get()));
  }

  /** The node that makes a call which is not wrong. */
  static String of(Metadata headers) {
    return Objects.requireNonNull(headers.get(LinkWire.FROM_KEY));
  }

  private static @Nullable UUID uuid(@Nullable String text) {
    try {
      return text == null ? null : UUID.fromString(text);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  ServerCall.Listener<byte[]> refuse(ServerCall<byte[], byte[]> call, Status why) {
    refused.increment();
    var from = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    // This node does not lead yet, or does not know the caller yet. The caller tries again.
    if (why.getCode() == Status.Code.UNAVAILABLE) LOG.debug("A {} from {} is refused for now: {}", what, from, why.getDescription());
    else if (lines.admits()) LOG.warn("A {} from {} is refused: {}; {} more refusals were not logged", what, from, why.getDescription(), lines.leftOut());
    call.close(why, new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
