package dunlin.store.grpc;

import io.grpc.ServerServiceDefinition;

/** A further service for other nodes at the service port. */
public interface PeerService {
  ServerServiceDefinition definition();

  /** The size of the largest accepted message in bytes; a larger one ends its call. */
  int messageBytesMax();
}
