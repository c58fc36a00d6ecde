/** The wires between the dist tier and other processes: the fan-out to frontends, and the calls that change routes. */
@NullMarked
package dunlin.dist.remote;

import org.jspecify.annotations.NullMarked;
