/** Replicated ranges of keys, as their users see them. Raft is by Apache Ratis, storage by RocksDB; nothing outside of dunlin.store imports either. */
@NullMarked
package dunlin.store;

import org.jspecify.annotations.NullMarked;
