package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainCommand.Add;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Row;
import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.store.serve.EpochRange;
import dunlin.store.serve.ProposalLine;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves one range of retained messages on its leader. */
final class RetainRangeServer {
  /*
   * Owner: none; called by any thread. Proposals complete on the range's applying thread, pages and the sweep run on
   * the range's reader threads, but for pages of which a few topics in memory tell that they are empty.
   * Bounds: the range's queues, and those of tenants (TenantRoom). A message that the full queue refuses waits in order, with the credit of its
   * publisher's lane, which is for all ranges together; WAITING_MAX may wait. One sweep at a time, with at most
   * REMOVALS_MAX pending removals of expired messages.
   * Failure: beyond WAITING_MAX, messages are answered with 0x97 at once (0x89 would fit better, but is no PUBACK
   * code); a failed proposal with 0x80: the message may or may not be stored. A full queue of readers fails the page.
   * All are counted. Removals of expired messages are retried by the next round of the sweep. What names another epoch
   * than the range's own is refused, and surely not done: a range that is split while a page is read refuses the page.
   */
  private static final Logger log = LoggerFactory.getLogger(RetainRangeServer.class);
  private static final int REMOVALS_MAX = 16;

  /** More than all lanes' default credit, so that publishers are held back before this is full. */
  private static final int WAITING_MAX = 1 << 20;

  /** The longest keys of a listing together, beyond the last one. */
  private static final int LISTING_BYTES_MAX = 1 << 20;

  private final EpochRange<RetainCommand, RetainResult> served;
  private final RetainRange logic;
  private final Range<RetainCommand, RetainResult> range;
  private final ProposalLine<Change, RetainResult> line;
  private final InstantSource clock;
  private final RetainMeters meters;
  private final TenantRoom room;
  private final Function<String, Held> elsewhere;
  private final PendingSets pendingSets = new PendingSets();
  private final RetainedExpirySweep sweep = new RetainedExpirySweep();
  private final AtomicBoolean sweeping = new AtomicBoolean();
  private final Semaphore removals = new Semaphore(REMOVALS_MAX);

  private volatile boolean closed;

  /** A command for the range at an epoch. */
  private record Change(long epoch, RetainCommand command) {}

  /**
   * @param room the limits of tenants, for all ranges together
   * @param elsewhere what a tenant has in all other ranges, as far as it is known
   */
  RetainRangeServer(RetainReplica replica, TenantRoom room, Function<String, Held> elsewhere, InstantSource clock, RetainMeters meters) {
    this.served = replica.served();
    this.range = served.range();
    this.logic = replica.messages();
    this.line =
        new ProposalLine<>(
            (change, completion) -> served.propose(change.epoch(), change.command(), completion), range::whenRoom, change -> RetainCodec.tenantOf(change.command()),
            WAITING_MAX);
    this.room = room;
    this.elsewhere = elsewhere;
    this.clock = clock;
    this.meters = meters;
  }

  /** The applied messages. Any thread reads the sums and walks the index. */
  RetainRange applied() {
    return logic;
  }

  /** Whether the disk has room for new messages. Any thread. */
  boolean hasDiskRoom() {
    return range.hasDiskRoom();
  }

  /** Messages that wait for room in the range's queue. */
  int waiting() {
    return line.waiting();
  }

  /** How long the first waiting message has waited. */
  double oldestSeconds() {
    return line.oldestSeconds();
  }

  /** {@link RetainClient#set} for a topic of this range, as a command. */
  void change(RetainCommand command, Consumer<ReasonCode> answer) {
    change(EpochRange.ALONE, command, completing(answer, ReasonCode.UNSPECIFIED_ERROR));
  }

  private static <T> Completion<T> completing(Consumer<T> answer, T otherwise) {
    return new Completion<>() {
      @Override
      public void done(T result) {
        answer.accept(result);
      }

      @Override
      public void failed(StoreException failure) {
        answer.accept(otherwise);
      }
    };
  }

  /** The same at an epoch. Fails only when the range has another one. */
  void change(long epoch, RetainCommand command, Completion<ReasonCode> answer) {
    propose(epoch, command, this::counted, Function.identity(), answer);
  }

  /** {@link RetainClient#add} for a topic of this range. */
  void add(Publication message, RetainBounds bounds, Consumer<Optional<ReasonCode>> answer) {
    add(EpochRange.ALONE, message, bounds, completing(answer, Optional.of(ReasonCode.UNSPECIFIED_ERROR)));
  }

  /** The same at an epoch. Fails only when the range has another one. */
  void add(long epoch, Publication message, RetainBounds bounds, Completion<Optional<ReasonCode>> answer) {
    propose(
        epoch, new Add(clock.millis(), bounds, message),
        result -> result instanceof RetainResult.Present ? Optional.empty() : Optional.of(counted(result)), Optional::of, answer);
  }

  /**
   * @param of what to answer to a result
   * @param otherwise what to answer when there is none, for a reason
   */
  private <T> void propose(
      long epoch, RetainCommand command, Function<RetainResult, T> of, Function<ReasonCode, T> otherwise, Completion<T> answer) {
    var claim = room.claimOf(command);
    if (claim != null && !room.takes(claim, logic, elsewhere.apply(claim.tenant()))) {
      meters.refusedTenant.increment();
      answer.done(otherwise.apply(ReasonCode.QUOTA_EXCEEDED));
      return;
    }
    var generation = pendingSets.begin();
    if (!line.propose(new Change(epoch, command), completing(generation, claim, of, otherwise, answer))) {
      ended(generation, claim);
      meters.refusedBusy.increment();
      answer.done(otherwise.apply(ReasonCode.SERVER_BUSY));
    }
  }

  private void ended(PendingSets.Generation generation, TenantRoom.@Nullable Claim claim) {
    pendingSets.end(generation);
    if (claim != null) logic.tenants().release(claim.tenant(), claim.key());
  }

  private <T> Completion<RetainResult> completing(
      PendingSets.Generation generation, TenantRoom.@Nullable Claim claim, Function<RetainResult, T> of, Function<ReasonCode, T> otherwise, Completion<T> answer) {
    return new Completion<>() {
      @Override
      public void done(RetainResult result) {
        ended(generation, claim);
        answer.done(of.apply(result));
      }

      @Override
      public void failed(StoreException failure) {
        ended(generation, claim);
        if (failure instanceof WrongEpochException) {
          answer.failed(failure);
          return;
        }
        log.debug("The outcome of a retained message is unknown: {}", failure.getMessage());
        meters.refusedFailed.increment();
        answer.done(otherwise.apply(ReasonCode.UNSPECIFIED_ERROR));
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
      case RetainResult.Present _ -> ReasonCode.SUCCESS; // the outcome that was wanted: there is a message
      case RetainResult.Refused(RetainResult.Limit limit) -> {
        meters.refused(limit).increment();
        yield ReasonCode.QUOTA_EXCEEDED;
      }
    };
  }

  /** {@link RetainClient#find} from the seek's position, which is in this range. */
  CompletableFuture<Page> find(long epoch, FilterSeek seek, int messagesMax, int bytesMax) {
    var answer = new CompletableFuture<Page>();
    pendingSets.whenEnded(
        () -> {
          if (!isEmpty(epoch, seek, answer)) readSoon(epoch, seek, messagesMax, bytesMax, answer);
        });
    return answer;
  }

  /** Answers a page at once if a look at a few topics tells that none matches: most subscriptions find nothing, and need no reader. */
  private boolean isEmpty(long epoch, FilterSeek seek, CompletableFuture<Page> answer) {
    Optional<Page> empty;
    try {
      empty = RetainPages.empty(logic.index(), served.end(epoch), seek);
      var _ = served.end(epoch); // as in read()
    } catch (RuntimeException _) {
      return false; // as the reader will find, too, who says so; this may be the applying thread
    }
    if (empty.isEmpty()) return false;
    meters.pages.increment();
    answer.complete(empty.get());
    return true;
  }

  private void readSoon(long epoch, FilterSeek seek, int messagesMax, int bytesMax, CompletableFuture<Page> answer) {
    try {
      range.readers().execute(() -> read(epoch, seek, messagesMax, bytesMax, answer));
    } catch (RejectedExecutionException e) {
      meters.refusedPages.increment();
      answer.completeExceptionally(new StoreException("retained messages: too many pages are being read", e));
    }
  }

  private void read(long epoch, FilterSeek seek, int messagesMax, int bytesMax, CompletableFuture<Page> answer) {
    RetainPages.Result result;
    long nowMillis = clock.millis();
    try {
      result = RetainPages.read(logic.index(), range.reader(), served.end(epoch), seek, nowMillis, messagesMax, bytesMax);
      var _ = served.end(epoch); // the rows behind a cut may have gone while the page was read
    } catch (WrongEpochException | NotLeaderException e) {
      answer.completeExceptionally(e);
      return;
    } catch (RuntimeException e) {
      meters.refusedPages.increment();
      answer.completeExceptionally(
          e instanceof StoreException failure ? failure : new StoreException("retained messages: cannot read a page", e));
      return;
    }
    meters.pages.increment();
    meters.found.increment(result.page().messages().size());
    if (!result.expired().isEmpty()) removeExpired(nowMillis, result.expired());
    answer.complete(result.page());
  }

  /** {@link RetainRangeClient#list}. */
  CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
    try {
      return CompletableFuture.supplyAsync(() -> listing(epoch, prefix, from, max), range.readers());
    } catch (RejectedExecutionException e) {
      meters.refusedPages.increment();
      return CompletableFuture.failedFuture(new StoreException("retained messages: too many pages are being read", e));
    }
  }

  private Listing listing(long epoch, byte[] prefix, byte[] from, int max) {
    var listing = listing(served.end(epoch), prefix, from, max);
    var _ = served.end(epoch); // as above
    return listing;
  }

  private Listing listing(byte @Nullable [] end, byte[] prefix, byte[] from, int max) {
    var rows = range.reader();
    var walk = logic.index().walk();
    var listed = new ArrayList<Row>();
    byte[] next = from;
    long bytes = 0;
    while (listed.size() < max && bytes < LISTING_BYTES_MAX) {
      if (!walk.seek(next, next.length)) return new Listing(listed, end != null && TopicKeys.begins(end, prefix) ? end : null);
      byte[] key = walk.copy();
      if (!TopicKeys.begins(key, prefix)) return new Listing(listed, null);
      byte[] row = rows.get(key);
      listed.add(new Row(key, row == null ? 0 : row.length));
      bytes += key.length;
      next = TopicKeys.following(key);
    }
    return new Listing(listed, next);
  }

  /** Starts the next step of the sweep for expired messages, unless one is running or the readers are busy with clients' requests. */
  void sweepSoon(int messagesMax) {
    if (closed || !sweeping.compareAndSet(false, true)) return;
    try {
      range.readers().execute(() -> sweep(messagesMax));
    } catch (RejectedExecutionException _) {
      sweeping.set(false);
    }
  }

  private void sweep(int messagesMax) {
    long nowMillis = clock.millis();
    try {
      sweep.step(range.reader(), nowMillis, messagesMax, keys -> removeExpired(nowMillis, keys));
    } catch (RuntimeException e) {
      if (!closed) log.warn("The sweep for expired retained messages has failed, trying again", e);
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
    boolean queued = served.propose(served.epoch(), new RemoveExpired(nowMillis, keys), completion);
    if (!queued) removals.release();
    return queued;
  }

  /** Stops removing expired messages. */
  void close() {
    closed = true;
  }
}
