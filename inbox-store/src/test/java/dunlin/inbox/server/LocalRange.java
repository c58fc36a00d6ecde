package dunlin.inbox.server;

import dunlin.inbox.range.MemoryRows;
import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.LowDiskException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/** A range with rows in memory and its own applying thread. Tests can make it full or broken. */
final class LocalRange<C, R> implements Range<C, R>, AutoCloseable {
  private final CommandCodec<C> codec;
  private final RangeLogic<C, R> logic;
  private final MemoryRows rows;
  private final ExecutorService applying = Executors.newSingleThreadExecutor();
  private final ExecutorService reading = Executors.newSingleThreadExecutor();
  private final List<Runnable> callers = new ArrayList<>();
  private final RangeFaults faults;

  LocalRange(CommandCodec<C> codec, RangeLogic<C, R> logic, MemoryRows rows, RangeFaults faults) {
    this.codec = codec;
    this.logic = logic;
    this.rows = rows;
    this.faults = faults;
    logic.open(rows);
    faults.ranges.add(this);
  }

  @Override
  public boolean propose(C command, Completion<R> completion) {
    if (faults.full) return false;
    if (faults.withoutDisk.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      completion.failed(new LowDiskException("no room"));
      return true;
    }
    var bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    try {
      applying.execute(() -> apply(bytes.flip(), completion));
    } catch (RejectedExecutionException closed) {
      completion.failed(new StoreException("closed", closed));
    }
    return true;
  }

  @Override
  public synchronized boolean whenRoom(Runnable caller) {
    callers.add(caller);
    if (!faults.full) tellRoom();
    return true;
  }

  synchronized void tellRoom() {
    callers.forEach(applying::execute);
    callers.clear();
  }

  private void apply(ByteBuffer bytes, Completion<R> completion) {
    C command = codec.decode(bytes);
    var log = faults.log;
    if (log != null) log.add(command);
    var refuses = faults.refusing;
    if (faults.broken || (refuses != null && refuses.isInstance(command))) {
      faults.refused.incrementAndGet();
      faults.failed.incrementAndGet();
      completion.failed(new StoreException("refused"));
      return;
    }
    R result = logic.apply(List.of(command), rows).getFirst();
    logic.summarize(rows);
    var unheard = faults.silent;
    if (unheard != null && unheard.isInstance(command)) {
      faults.failed.incrementAndGet();
      completion.failed(new OutcomeUnknownException("applied, for all that is known", new IllegalStateException()));
    } else {
      completion.done(result);
    }
  }

  @Override
  public RangeReader reader() {
    return rows;
  }

  @Override
  public Executor readers() {
    if (faults.full) throw new RejectedExecutionException("full");
    return reading;
  }

  @Override
  public void close() {
    faults.ranges.remove(this);
    applying.close();
    reading.close();
  }
}
