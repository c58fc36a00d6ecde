/** Links between processes: each pipe is a stream of gRPC. */
@NullMarked
package dunlin.links;

import org.jspecify.annotations.NullMarked;
