/** Replicated ranges of keys: Raft by Apache Ratis, storage by RocksDB. The only place that imports either. */
@NullMarked
package dunlin.store;

import org.jspecify.annotations.NullMarked;
