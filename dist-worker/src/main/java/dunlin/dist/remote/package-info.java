/** The fan-out to frontends in other processes. */
@NullMarked
package dunlin.dist.remote;

import org.jspecify.annotations.NullMarked;
