/** Links between processes, where each pipe is a stream of gRPC, and between the tiers of one process. */
@NullMarked
package dunlin.links;

import org.jspecify.annotations.NullMarked;
