package dunlin.dist.route;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.StoreException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** A range whose log is a queue that the test applies; commands go through their codec. */
public final class InMemoryRange<C, R> implements Range<C, R> {
  private record Proposed<R>(byte[] command, Completion<R> completion) {}

  private final CommandCodec<C> codec;
  private final RangeLogic<C, R> logic;
  private final ArrayDeque<Proposed<R>> queue = new ArrayDeque<>();
  public final Rows rows = new Rows();
  public int queueMax = Integer.MAX_VALUE;
  public int applied;

  public InMemoryRange(CommandCodec<C> codec, RangeLogic<C, R> logic) {
    this.codec = codec;
    this.logic = logic;
    logic.open(rows);
  }

  public static final class Rows implements RangeWriter {
    public final TreeMap<byte[], byte[]> map = new TreeMap<>(Arrays::compareUnsigned);

    /** Rows that scans have visited. */
    public int scanned;

    @Override
    public byte @Nullable [] get(byte[] key) {
      return map.get(key);
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RangeReader.RowVisitor visitor) {
      for (Map.Entry<byte[], byte[]> row : map.tailMap(from, true).entrySet()) {
        if (to != null && Arrays.compareUnsigned(row.getKey(), to) >= 0) return;
        scanned++;
        if (!visitor.row(row.getKey(), row.getValue())) return;
      }
    }

    @Override
    public void put(byte[] key, byte[] value) {
      map.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      map.remove(key);
    }
  }

  @Override
  public boolean propose(C command, Completion<R> completion) {
    if (queue.size() >= queueMax) return false;
    queue.add(new Proposed<>(bytes(codec, command), completion));
    return true;
  }

  @Override
  public boolean whenRoom(Runnable caller) {
    throw new UnsupportedOperationException();
  }

  public static <C> byte[] bytes(CommandCodec<C> codec, C command) {
    var out = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, out);
    if (out.hasRemaining()) throw new AssertionError(out.remaining() + " bytes fewer than said");
    return out.array();
  }

  /** Opens the logic again on the same rows. */
  public void reopen() {
    logic.open(rows);
  }

  public int queued() {
    return queue.size();
  }

  /** Applies the queued commands as one entry, and those that completions propose. */
  public void applyAll() {
    while (!queue.isEmpty()) {
      List<Proposed<R>> entry = new ArrayList<>(queue);
      queue.clear();
      List<R> results = logic.apply(entry.stream().map(p -> codec.decode(ByteBuffer.wrap(p.command))).toList(), rows);
      applied += entry.size();
      for (int i = 0; i < entry.size(); i++) entry.get(i).completion.done(results.get(i));
    }
  }

  /** Fails the oldest command; it takes effect only if it is passed to {@link #applyLate}. */
  public C failNext() {
    Proposed<R> next = queue.remove();
    next.completion.failed(new StoreException("leader lost"));
    return codec.decode(ByteBuffer.wrap(next.command));
  }

  public void applyLate(C command) {
    List<R> ignored = logic.apply(List.of(command), rows);
    if (ignored.size() != 1) throw new AssertionError("results: " + ignored);
  }

  @Override
  public RangeReader reader() {
    return rows;
  }

  @Override
  public Executor readers() {
    return Runnable::run;
  }
}
