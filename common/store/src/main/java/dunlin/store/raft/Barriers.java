package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Failures;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientAsynchronousProtocol;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;

/** Read barriers: they make reads on the leader linearizable. */
final class Barriers {
  /*
   * Owner: any thread waits, the applying thread completes; the lock guards the map, futures are completed outside of it.
   * Bounds: `most` pending barriers. Full: the next one is refused.
   * Failure: fail() fails all pending and all later barriers. Ratis can forget a question for ever when the peers change
   * meanwhile: it counts an acknowledgement only as it arrives. So a question fails after ANSWER_ELECTIONS election
   * timeouts, by which time a leader without a majority has stepped down.
   */
  private static final int ANSWER_ELECTIONS = 2;

  private final RangeId range;
  private final int most;
  private final Duration answerMax;
  private final ClientId clientId = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  @GuardedBy("waiting")
  private final TreeMap<Long, List<CompletableFuture<@Nullable Void>>> waiting = new TreeMap<>();

  private final Semaphore places;

  @GuardedBy("waiting")
  private long written = -1;

  @GuardedBy("waiting")
  private @Nullable StoreException failure;

  Barriers(RangeId range, StoreSettings settings) {
    this.range = range;
    most = settings.reads().queuedMax();
    answerMax = settings.cluster().electionTimeout().multipliedBy(ANSWER_ELECTIONS);
    places = new Semaphore(most);
  }

  /**
   * Completes when the rows show everything committed by now, if this replica leads. A replica that leads in the same
   * term before and after the question has led all the time, so no other leader has committed anything in between.
   * Ratis answers by its lease, or asks the peers; it does not wait for the rows, which are written a little later.
   */
  CompletableFuture<@Nullable Void> ask(RaftServer server, RaftGroupId group, Leadership leadership) {
    if (!places.tryAcquire())
      return CompletableFuture.failedFuture(new StoreException("range '" + range + "': " + most + " barriers are pending already"));
    var answer = new CompletableFuture<@Nullable Void>();
    var _ =
        asked(server, group, leadership)
            .whenComplete(
                (_, e) -> {
                  places.release();
                  if (e == null) answer.complete(null);
                  else answer.completeExceptionally(Failures.unwrapped(e));
                });
    return answer;
  }

  private CompletableFuture<@Nullable Void> asked(RaftServer server, RaftGroupId group, Leadership leadership) {
    try {
      var division = server.getDivision(group);
      long term = division.getInfo().getCurrentTerm();
      if (!division.getInfo().isLeaderReady()) return CompletableFuture.failedFuture(leadership.notLeader());
      long committed = division.getRaftLog().getLastCommittedIndex();
      var request =
          RaftClientRequest.newBuilder()
              .setClientId(clientId)
              .setServerId(server.getId())
              .setGroupId(group)
              .setCallId(calls.incrementAndGet())
              .setType(RaftClientRequest.readRequestType())
              .setMessage(Message.EMPTY)
              .build();
      return ((RaftClientAsynchronousProtocol) division)
          .submitClientRequestAsync(request)
          .orTimeout(answerMax.toMillis(), TimeUnit.MILLISECONDS)
          .handle(
              (reply, e) ->
                  e == null && reply.isSuccess() && division.getInfo().getCurrentTerm() == term
                      ? await(committed)
                      : CompletableFuture.<@Nullable Void>failedFuture(leadership.notLeader()))
          .thenCompose(waiting -> waiting);
    } catch (IOException | RuntimeException e) { // it is being closed, and Ratis may throw any exception then
      return CompletableFuture.failedFuture(leadership.notLeader());
    }
  }

  /** Completes when the rows include this entry. */
  private CompletableFuture<@Nullable Void> await(long index) {
    synchronized (waiting) {
      if (failure != null) return CompletableFuture.failedFuture(failure);
      if (index <= written) return CompletableFuture.completedFuture(null);
      var one = new CompletableFuture<@Nullable Void>();
      waiting.computeIfAbsent(index, _ -> new ArrayList<>()).add(one);
      return one;
    }
  }

  void written(long index) {
    var done = new ArrayList<CompletableFuture<@Nullable Void>>();
    synchronized (waiting) {
      written = index;
      for (var first = waiting.firstEntry(); first != null && first.getKey() <= index; first = waiting.firstEntry()) {
        done.addAll(first.getValue());
        waiting.remove(first.getKey());
      }
    }
    done.forEach(one -> one.complete(null));
  }

  void fail(StoreException e) {
    var failed = new ArrayList<CompletableFuture<@Nullable Void>>();
    synchronized (waiting) {
      if (failure == null) failure = e;
      waiting.values().forEach(failed::addAll);
      waiting.clear();
    }
    failed.forEach(one -> one.completeExceptionally(e));
  }
}
