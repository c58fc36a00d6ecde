/** Copies of ranges: how they are made from a running store, and how a data directory is made of them. */
@NullMarked
package dunlin.store.backup;

import org.jspecify.annotations.NullMarked;
