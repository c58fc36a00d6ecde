/** What is in the data directory: rows in RocksDB, logs and their metadata, the identity of the node, and how much room is left. */
@NullMarked
package dunlin.store.disk;

import org.jspecify.annotations.NullMarked;
