package dunlin.retain;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.StoreException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** A range without a log, with rows in memory; a command is applied on the thread that proposes it. */
final class FakeRange<C, R> implements Range<C, R> {
  private final CommandCodec<C> codec;
  private final RangeLogic<C, R> logic;
  private final Rows rows;
  private final List<Runnable> callers = new ArrayList<>();

  /** What happens to the next proposals. */
  enum Log {
    APPLIES,
    /** Proposals wait for {@link #applyHeld}. */
    HOLDS,
    FULL,
    FAILS
  }

  volatile Log log = Log.APPLIES;
  volatile Executor readers = Runnable::run;
  private final List<Runnable> held = new ArrayList<>();

  FakeRange(CommandCodec<C> codec, RangeLogic<C, R> logic) {
    this(codec, logic, new Rows());
  }

  /** Opens the rows of an earlier range. */
  FakeRange(CommandCodec<C> codec, RangeLogic<C, R> logic, Rows rows) {
    this.codec = codec;
    this.logic = logic;
    this.rows = rows;
    logic.open(rows);
  }

  /** Creates ranges with rows of their own, and adds them to a list. */
  static RetainServer.RangeOpener openedInto(List<FakeRange<RetainCommand, RetainResult>> ranges) {
    return (_, codec, logic) -> {
      var range = new FakeRange<>(codec, logic);
      ranges.add(range);
      return range;
    };
  }

  Rows rows() {
    return rows;
  }

  @Override
  public synchronized boolean propose(C command, Completion<R> completion) {
    switch (log) {
      case FULL -> {
        return false;
      }
      case HOLDS -> held.add(() -> completion.done(logic.apply(List.of(copyOf(command)), rows).getFirst()));
      case FAILS -> completion.failed(new StoreException("the test wants it to fail"));
      case APPLIES -> completion.done(logic.apply(List.of(copyOf(command)), rows).getFirst());
    }
    return true;
  }

  synchronized void applyHeld() {
    held.forEach(Runnable::run);
    held.clear();
  }

  @Override
  public synchronized boolean whenRoom(Runnable caller) {
    callers.add(caller);
    return true;
  }

  /** The log accepts commands again, and callers that wait for room are notified. */
  void hasRoom() {
    log = Log.APPLIES;
    List<Runnable> told;
    synchronized (this) {
      told = List.copyOf(callers);
      callers.clear();
    }
    told.forEach(Runnable::run);
  }

  private C copyOf(C command) {
    ByteBuffer bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    if (bytes.hasRemaining()) throw new AssertionError("encoded length of " + command);
    return codec.decode(bytes.flip());
  }

  @Override
  public RangeReader reader() {
    return rows;
  }

  @Override
  public Executor readers() {
    return readers;
  }

  /** Rows in memory; a change is visible at once. */
  static final class Rows implements RangeWriter {
    private final ConcurrentNavigableMap<byte[], byte[]> map = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

    int size() {
      return map.size();
    }

    @Override
    public void put(byte[] key, byte[] value) {
      map.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      map.remove(key);
    }

    @Override
    public byte @Nullable [] get(byte[] key) {
      return map.get(key);
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
      var part = to == null ? map.tailMap(from) : map.subMap(from, to);
      for (Map.Entry<byte[], byte[]> row : part.entrySet()) if (!visitor.row(row.getKey(), row.getValue())) return;
    }
  }
}
