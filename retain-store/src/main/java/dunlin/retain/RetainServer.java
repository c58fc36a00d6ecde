package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.serve.ProposalLine;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The retain tier on the node that leads its range. A subscriber finds a message at least as new as any that was answered
 * with success before it asked, and never an older one than it found before.
 */
public final class RetainServer implements RetainClient, AutoCloseable {
  /*
   * Owner: none; called by any thread. Proposals end on the range's applying thread, pages and the sweep run on the range's
   *   reading threads, the scheduler's thread only starts the sweep.
   * Bounds: the range's queues. A message that the full queue refuses waits in its order, with the credit that its publisher's lane gave
   *   it; WAITING_MAX may wait. One sweep at a time, at most REMOVALS_MAX removals of expired messages under way.
   * Failure: more than may wait are answered with 0x97 at once (0x89, which would say it better, is no PUBACK code), a
   *   failed proposal 0x80: the message may or may not be kept. A full queue of readers fails the page. All are counted.
   *   Removals of expired messages are simply tried again by the next round of the sweep.
   */
  private static final Logger log = LoggerFactory.getLogger(RetainServer.class);
  private static final int REMOVALS_MAX = 16;

  /** More than all lanes have credit for by default, so that these are not read from before this is full. */
  private static final int WAITING_MAX = 1 << 20;

  private final RetainRange logic;
  private final Range<RetainCommand, RetainResult> range;
  private final ProposalLine<RetainCommand, RetainResult> line;
  private final RetainSettings settings;
  private final InstantSource clock;
  private final ScheduledExecutorService scheduler;
  private final RetainMeters meters;
  private final SetsUnderWay setsUnderWay = new SetsUnderWay();
  private final RetainedExpirySweep sweep = new RetainedExpirySweep();
  private final AtomicBoolean sweeping = new AtomicBoolean();
  private final Semaphore removals = new Semaphore(REMOVALS_MAX);

  private volatile boolean closed;
  private @Nullable ScheduledFuture<?> ticks; // start() and close() are called by the node's one thread

  /**
   * Declares the range in a store that has not started yet.
   *
   * @param scheduler starts the removal of expired messages; stays the caller's
   */
  public static RetainServer on(
      RangeStore store,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    RetainRange logic = new RetainRange();
    var range = store.range("retain", new RetainCodec(), logic);
    return new RetainServer(logic, range, settings, registry, clock, scheduler);
  }

  RetainServer(
      RetainRange logic,
      Range<RetainCommand, RetainResult> range,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    this.logic = logic;
    this.range = range;
    this.line = new ProposalLine<>(range, WAITING_MAX);
    this.settings = settings;
    this.clock = clock;
    this.scheduler = scheduler;
    this.meters = new RetainMeters(registry, logic, settings.bounds(), line);
  }

  /** Begins to remove expired messages; to be called when the store has started. */
  public void start() {
    long interval = settings.sweepInterval().toMillis();
    ticks = scheduler.scheduleWithFixedDelay(this::tick, interval, interval, TimeUnit.MILLISECONDS);
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    if (!TopicKeys.hasKey(message)) {
      meters.refusedInvalid.increment();
      answer.accept(ReasonCode.TOPIC_NAME_INVALID);
      return;
    }
    RetainCommand command =
        message.payloadLength() == 0 ? new Clear(TopicKeys.of(message)) : new Set(settings.bounds(), message);
    setsUnderWay.begin();
    if (!line.propose(command, completing(answer))) {
      setsUnderWay.end();
      meters.refusedBusy.increment();
      answer.accept(ReasonCode.SERVER_BUSY);
    }
  }

  private Completion<RetainResult> completing(Consumer<ReasonCode> answer) {
    return new Completion<>() {
      @Override
      public void done(RetainResult result) {
        setsUnderWay.end();
        answer.accept(counted(result));
      }

      @Override
      public void failed(StoreException failure) {
        setsUnderWay.end();
        log.debug("a retained message's fate is unknown: {}", failure.getMessage());
        meters.refusedFailed.increment();
        answer.accept(ReasonCode.UNSPECIFIED_ERROR);
      }
    };
  }

  private ReasonCode counted(RetainResult result) {
    return switch (result) {
      case RetainResult.Stored _ -> {
        meters.stored.increment();
        yield ReasonCode.SUCCESS;
      }
      case RetainResult.Removed(int messages) -> {
        meters.removed.increment(messages);
        yield ReasonCode.SUCCESS;
      }
      case RetainResult.Refused(RetainResult.Limit limit) -> {
        meters.refused(limit).increment();
        yield ReasonCode.QUOTA_EXCEEDED;
      }
    };
  }

  @Override
  public CompletableFuture<Long> count() {
    return CompletableFuture.completedFuture(logic.index().size());
  }

  @Override
  public CompletableFuture<Page> find(
      String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    FilterSeek seek = new FilterSeek(tenant, filter);
    if (after != null) seek.from(after.key());
    var answer = new CompletableFuture<Page>();
    setsUnderWay.whenEnded(() -> readSoon(seek, messagesMax, bytesMax, answer));
    return answer;
  }

  /** What operators do with retained messages. */
  public RetainedMXBean operations() {
    return new RetainOperations(logic.index(), this::reading, this::set);
  }

  private <T> CompletableFuture<T> reading(Function<RangeReader, T> what) {
    try {
      return CompletableFuture.supplyAsync(() -> what.apply(range.reader()), range.readers());
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(new StoreException("retained messages: too many pages are being read", e));
    }
  }

  private void readSoon(FilterSeek seek, int messagesMax, int bytesMax, CompletableFuture<Page> answer) {
    try {
      range.readers().execute(() -> read(seek, messagesMax, bytesMax, answer));
    } catch (RejectedExecutionException e) {
      meters.refusedPages.increment();
      answer.completeExceptionally(new StoreException("retained messages: too many pages are being read", e));
    }
  }

  private void read(FilterSeek seek, int messagesMax, int bytesMax, CompletableFuture<Page> answer) {
    RetainPages.Result result;
    long nowMillis = clock.millis();
    try {
      result = RetainPages.read(logic.index(), range.reader(), seek, nowMillis, messagesMax, bytesMax);
    } catch (RuntimeException e) {
      meters.refusedPages.increment();
      answer.completeExceptionally(
          e instanceof StoreException failure ? failure : new StoreException("retained messages: cannot read a page", e));
      return;
    }
    meters.found.increment(result.page().messages().size());
    if (!result.expired().isEmpty()) removeExpired(nowMillis, result.expired());
    answer.complete(result.page());
  }

  /** Looks at some more messages, whether they have expired; comes by itself from {@link #start} on. */
  void tick() {
    if (closed || !sweeping.compareAndSet(false, true)) return;
    try {
      range.readers().execute(this::sweep);
    } catch (RejectedExecutionException _) {
      sweeping.set(false); // The readers are busy with what clients ask for: the next tick tries again.
    }
  }

  private void sweep() {
    long nowMillis = clock.millis();
    try {
      sweep.step(range.reader(), nowMillis, settings.sweepMessages(), keys -> removeExpired(nowMillis, keys));
    } catch (RuntimeException e) {
      if (!closed) log.warn("looking for expired retained messages failed, trying again", e);
    } finally {
      sweeping.set(false);
    }
  }

  private boolean removeExpired(long nowMillis, List<byte[]> keys) {
    if (closed || !removals.tryAcquire()) return false;
    Completion<RetainResult> completion =
        new Completion<>() {
          @Override
          public void done(RetainResult result) {
            removals.release();
            if (result instanceof RetainResult.Removed(int messages)) meters.expired.increment(messages);
          }

          @Override
          public void failed(StoreException failure) {
            removals.release();
          }
        };
    boolean queued = range.propose(new RemoveExpired(nowMillis, keys), completion);
    if (!queued) removals.release();
    return queued;
  }

  /** Stops removing expired messages. The store, whose range goes on until then, is closed by its owner. */
  @Override
  public void close() {
    closed = true;
    if (ticks != null) ticks.cancel(false);
    meters.close();
  }
}
