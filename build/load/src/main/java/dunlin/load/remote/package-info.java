/** A run on several machines: each worker runs a share of the clients; the director coordinates them and adds up the results. */
@NullMarked
package dunlin.load.remote;

import org.jspecify.annotations.NullMarked;
