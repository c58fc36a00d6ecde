package dunlin.chaos;

import dunlin.chaos.history.History;
import dunlin.chaos.history.Operation.Outcome;
import dunlin.chaos.history.Operation;
import dunlin.chaos.history.Read;
import dunlin.store.Completion;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.remote.RangeClient;
import dunlin.store.remote.RangeMap;
import dunlin.store.remote.RemoteRange;
import dunlin.store.serve.RangeLocation;
import dunlin.store.settings.RangeClientSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;

/** Writers with many writes in flight each, a reader that asks for barriers, and the history of all outcomes. */
final class Load implements AutoCloseable {
  /*
   * Owner: writers and reader have a thread each; completions come on the client's.
   * Bounds: WINDOW writes in flight for each writer, and a rate of writes, so that the history of a trial stays small.
   */
  static final int WRITERS = 4;
  static final int WINDOW = 64;

  private static final long FULL_PAUSE_NANOS = 1_000_000;
  private static final long READ_PAUSE_NANOS = 20_000_000;
  private static final Duration BARRIER_TIMEOUT = Duration.ofSeconds(3);
  private static final Duration DRAIN = Duration.ofSeconds(30);

  private static final RemoteRange.Rules<Ledger.Write> RULES =
      new RemoteRange.Rules<>() {
        @Override
        public boolean belongs(Ledger.Write write, RangeLocation now) {
          return true;
        }

        @Override
        public boolean idempotent(Ledger.Write write) {
          return false; // never resent when it may be done; the checker detects a client that breaks this
        }
      };

  private final RangeClient client;
  private final RemoteRange<Ledger.Write, Ledger.Answer> range;
  private final ToLongFunction<UUID> lastOn;
  private final long pauseNanos; // the pause of a writer after each write
  private final List<Operation> operations = new ArrayList<>(); // guarded by itself
  private final List<Read> reads = new ArrayList<>(); // used by the reader until it has ended
  private final List<Thread> threads = new ArrayList<>();
  private final Semaphore window = new Semaphore(WRITERS * WINDOW);
  private final AtomicLong ids = new AtomicLong();
  private final AtomicLong highest = new AtomicLong();
  private final AtomicLong placed = new AtomicLong();
  private final AtomicLong answered = new AtomicLong();
  private volatile boolean stopping;

  /**
   * @param patience after how much silence a node is suspected; it then has twice as long to answer a ping
   * @param writesPerSecond the most writes that all writers together begin in a second
   * @param lastOn the last place that a node shows; throws TrialException where the node does not answer
   */
  Load(RangeMap map, Duration patience, int writesPerSecond, Random random, ToLongFunction<UUID> lastOn) {
    this.lastOn = lastOn;
    pauseNanos = 1_000_000_000L * WRITERS / writesPerSecond;
    client =
        new RangeClient("chaos", settings(patience), map, null, new SimpleMeterRegistry(), System::nanoTime, random);
    range = client.range(Ledger.RANGE.uuid(), Ledger.WRITES, Ledger.ANSWERS, RULES);
    for (int i = 0; i < WRITERS; i++) threads.add(Thread.ofPlatform().daemon().name("writer-" + i).unstarted(this::write));
    threads.add(Thread.ofPlatform().daemon().name("reader").unstarted(this::read));
    threads.forEach(Thread::start);
  }

  private static RangeClientSettings settings(Duration patience) {
    var d = RangeClientSettings.defaults();
    return d.with(new RangeClientSettings.Silence(d.silence().connectTimeout(), patience, patience.multipliedBy(2)));
  }

  /** Writes that have been acknowledged so far. */
  long placed() {
    return placed.get();
  }

  /** Writes that a leader has answered so far, including those answered with a loss. */
  long answered() {
    return answered.get();
  }

  int inFlight() {
    return WRITERS * WINDOW - window.availablePermits();
  }

  private void write() {
    while (true) {
      window.acquireUninterruptibly();
      if (stopping) break;
      var write = new Ledger.Write(ids.incrementAndGet(), highest.get());
      var completion = recording(write);
      boolean begun = range.propose(write, completion);
      while (!begun && !stopping) { // the client's queue is full
        LockSupport.parkNanos(FULL_PAUSE_NANOS);
        begun = range.propose(write, completion);
      }
      if (!begun) break;
      LockSupport.parkNanos(pauseNanos);
    }
    window.release();
  }

  private Completion<Ledger.Answer> recording(Ledger.Write write) {
    long invoked = System.nanoTime();
    return new Completion<>() {
      @Override
      public void done(Ledger.Answer answer) {
        ended(
            switch (answer) {
              case Ledger.Answer.Placed(long place) -> new Outcome.Placed(place);
              case Ledger.Answer.Behind(long last) -> new Outcome.Behind(last);
            });
      }

      @Override
      public void failed(StoreException failure) {
        String why = String.valueOf(failure.getMessage());
        ended(failure instanceof OutcomeUnknownException ? new Outcome.Unknown(why) : new Outcome.Refused(why));
      }

      private void ended(Outcome outcome) {
        var operation = new Operation(write.id(), write.seen(), invoked, System.nanoTime(), outcome);
        synchronized (operations) {
          operations.add(operation);
        }
        if (outcome instanceof Outcome.Placed(long place)) {
          highest.accumulateAndGet(place, Math::max);
          placed.incrementAndGet();
          answered.incrementAndGet();
        } else if (outcome instanceof Outcome.Behind) {
          answered.incrementAndGet();
        }
        window.release();
      }
    };
  }

  /** Asks for a barrier, and then reads from the node that has granted it: it must show all writes acknowledged before. */
  private void read() {
    while (!stopping) {
      long invoked = System.nanoTime();
      var granted = new CompletableFuture<UUID>();
      boolean asked =
          range.barrier(
              BARRIER_TIMEOUT,
              new Completion<>() {
                @Override
                public void done(UUID node) {
                  granted.complete(node);
                }

                @Override
                public void failed(StoreException failure) {
                  granted.completeExceptionally(failure);
                }
              });
      if (asked) {
        try {
          reads.add(new Read(invoked, lastOn.applyAsLong(granted.join())));
        } catch (RuntimeException e) {
          // Not granted, or the node has ended or is paused since: nothing was read.
        }
      }
      LockSupport.parkNanos(READ_PAUSE_NANOS);
    }
  }

  /** Stops, waits until all operations have an outcome, and returns the history. */
  History stop() {
    stopping = true;
    try {
      if (!window.tryAcquire(WRITERS * WINDOW, DRAIN.toSeconds(), TimeUnit.SECONDS))
        throw new TrialException("writes have had no end within " + DRAIN + " although each has a deadline");
      window.release(WRITERS * WINDOW);
      for (var thread : threads)
        if (!thread.join(DRAIN)) throw new TrialException(thread.getName() + " does not end");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
    synchronized (operations) {
      return new History(operations, reads);
    }
  }

  @Override
  public void close() {
    stopping = true;
    client.close();
  }
}
