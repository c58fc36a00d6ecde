package dunlin.store.disk;

import dunlin.store.KeyInterval;
import dunlin.store.RangeId;
import dunlin.store.RangeLoad;
import dunlin.store.RangeReader;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What one replica counts of its work, and asks RocksDB. */
public final class ReplicaLoad implements RangeLoad {
  /*
   * Owner: the applying thread tells what it applies; readers tell what they read; any thread asks.
   */
  private final Supplier<RocksRange> rows;
  private final KeySample sample;
  private final AtomicLong applied = new AtomicLong();
  private final LongAdder read = new LongAdder();

  /** @param rows throws while there are none to be asked */
  public ReplicaLoad(RangeId range, Supplier<RocksRange> rows) {
    this.rows = rows;
    sample = new KeySample(range.uuid().getLeastSignificantBits(), System::nanoTime);
  }

  public void applied(int commands) {
    applied.addAndGet(commands);
  }

  /** The row with this key is being written. */
  public void written(byte[] key) {
    sample.written(key);
  }

  /** Counts what it is asked. */
  public RangeReader reader() {
    return new RangeReader() {
      @Override
      public byte @Nullable [] get(byte[] key) {
        read.increment();
        return rows.get().get(key);
      }

      @Override
      public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
        read.increment();
        rows.get().scan(from, to, visitor);
      }
    };
  }

  @Override
  public long bytes(KeyInterval keys) {
    return rows.get().bytes(keys.start(), keys.end());
  }

  @Override
  public long operations() {
    return applied.get() + read.sum();
  }

  @Override
  public List<byte[]> writtenLately() {
    return sample.keys();
  }

  @Override
  public Optional<byte[]> middle(KeyInterval keys) {
    return rows.get().middle(keys);
  }
}
