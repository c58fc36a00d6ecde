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

/** Measures one replica's load: counts its operations, and asks RocksDB for sizes. */
public final class ReplicaLoad implements RangeLoad {
  /*
   * Owner: the applying thread and the readers count; any thread reads.
   */
  private final Supplier<RocksRange> rows;
  private final KeySample sample;
  private final AtomicLong applied = new AtomicLong();
  private final LongAdder read = new LongAdder();

  /** @param rows throws while the rows are not open */
  public ReplicaLoad(RangeId range, Supplier<RocksRange> rows) {
    this.rows = rows;
    sample = new KeySample(range.uuid().getLeastSignificantBits(), System::nanoTime);
  }

  public void applied(int commands) {
    applied.addAndGet(commands);
  }

  /** Counts a write to this key. */
  public void written(byte[] key) {
    sample.written(key);
  }

  /** A reader that counts what it reads. */
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
