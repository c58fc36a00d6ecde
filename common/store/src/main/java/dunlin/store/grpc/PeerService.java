package dunlin.store.grpc;

import io.grpc.ServerServiceDefinition;

/** What other nodes reach at the service port besides the store itself. */
public interface PeerService {
  ServerServiceDefinition definition();

  /** Bytes of the largest message that it takes; a larger one ends its call. */
  int messageBytesMax();
}
