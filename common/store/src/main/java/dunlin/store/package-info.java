/** The API of replicated ranges of keys. Raft is Apache Ratis, storage is RocksDB; nothing outside of dunlin.store imports either. */
@NullMarked
package dunlin.store;

import org.jspecify.annotations.NullMarked;
