/** The data directory: rows in RocksDB, logs and their metadata, the identity of the node, and the free disk space. */
@NullMarked
package dunlin.store.disk;

import org.jspecify.annotations.NullMarked;
