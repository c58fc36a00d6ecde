/** Snapshots of a range: how they are made, downloaded by a replica that is too far behind, and how the log is truncated after them. */
@NullMarked
package dunlin.store.snapshot;

import org.jspecify.annotations.NullMarked;
