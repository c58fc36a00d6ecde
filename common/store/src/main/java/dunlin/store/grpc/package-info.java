/** Code shared by all gRPC services between nodes. */
@NullMarked
package dunlin.store.grpc;

import org.jspecify.annotations.NullMarked;
