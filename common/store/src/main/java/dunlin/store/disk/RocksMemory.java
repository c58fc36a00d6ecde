package dunlin.store.disk;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.CompressionType;
import org.rocksdb.Env;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/** The resources that the RocksDBs of one process share: one budget for cached blocks and unflushed rows, and the background threads. */
public final class RocksMemory implements AutoCloseable {
  /*
   * Owner: the store; closed after the last RocksDB that uses it.
   * Bounds: the budget. Unflushed rows are charged to the block cache and flushed when they reach half of it; index and
   * filter blocks live in the cache too. Full: RocksDB evicts blocks, and flushes the largest memtable.
   *
   * A quarter of the threads, at least one, flushes, and the others compact. A single compaction thread could not keep
   * up with one busy range: RocksDB would stall its writes, and all ranges would wait for that thread.
   */
  private static final int MIB = 1024 * 1024;
  private static final int THREADS_MIN = 3;
  private static final int THREADS_MAX = 16;

  private final Cache cache;
  private final WriteBufferManager writeBuffers;
  private final BloomFilter bloomFilter;
  private final long writeBufferBytes;
  private final int threads = Math.clamp(Runtime.getRuntime().availableProcessors() / 2 + 2, THREADS_MIN, THREADS_MAX);

  public RocksMemory(long bytes) {
    RocksDB.loadLibrary();
    cache = new LRUCache(bytes);
    bloomFilter = new BloomFilter(10);
    writeBuffers = new WriteBufferManager(bytes / 2, cache);
    writeBufferBytes = Math.clamp(bytes / 4, MIB, 64 * MIB);
  }

  /** Settings of one range's RocksDB. The caller closes them after the database. */
  Options options(boolean create) {
    var table =
        new BlockBasedTableConfig()
            .setBlockCache(cache)
            .setCacheIndexAndFilterBlocks(true)
            .setPinL0FilterAndIndexBlocksInCache(true)
            .setFilterPolicy(bloomFilter);
    return new Options()
        .setCreateIfMissing(create)
        .setEnv(Env.getDefault())
        .setWriteBufferManager(writeBuffers)
        .setWriteBufferSize(writeBufferBytes)
        .setMaxWriteBufferNumber(3)
        .setTableFormatConfig(table)
        .setCompressionType(CompressionType.LZ4_COMPRESSION)
        .setTargetFileSizeBase(16 * MIB)
        .setMaxBytesForLevelBase(64 * MIB)
        // Tens of ranges share one process's file descriptors and cores.
        .setMaxOpenFiles(64)
        .setMaxBackgroundJobs(threads)
        // By default the MANIFEST of a range would grow to 1 GiB before RocksDB begins a new one.
        .setMaxManifestFileSize(4 * MIB)
        .setKeepLogFileNum(2)
        .setMaxLogFileSize(MIB)
        .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
        .setStatsDumpPeriodSec(0)
        .setStatsPersistPeriodSec(0)
        .setSkipStatsUpdateOnDbOpen(true);
  }

  @Override
  public void close() {
    writeBuffers.close();
    cache.close();
    bloomFilter.close();
  }
}
