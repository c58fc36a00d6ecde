/** What all services of gRPC between nodes have in common. */
@NullMarked
package dunlin.store.grpc;

import org.jspecify.annotations.NullMarked;
