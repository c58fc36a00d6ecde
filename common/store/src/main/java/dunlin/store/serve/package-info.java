/** Serving a replica to other processes: its location and its replies. */
@NullMarked
package dunlin.store.serve;

import org.jspecify.annotations.NullMarked;
