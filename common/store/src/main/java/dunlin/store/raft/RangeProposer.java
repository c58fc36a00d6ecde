package dunlin.store.raft;

import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import dunlin.store.Completion;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.Range;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.store.disk.DiskSpace;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientAsynchronousProtocol;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.LeaderNotReadyException;
import org.apache.ratis.protocol.exceptions.LeaderSteppingDownException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Packs the commands proposed to one range into log entries. An entry takes the commands that have gathered while
 * earlier entries were in flight: entries grow with the load, and a single command does not wait.
 */
final class RangeProposer<C, R> {
  /*
   * Owner: the proposer thread takes from the queue and submits, which may block; any thread proposes. An entry in
   * flight belongs to the thread that removes it from `inFlight`: the applying thread (claim), or the one that sees it
   * fail.
   * Bounds: StoreSettings.Queue says what may wait (CommandQueue); StoreSettings.Entries what is in flight. Full: propose()
   * answers false and counts; a caller of whenRoom() is notified by the proposer thread when half of the queue is free.
   * Places: entries.inFlight entries go at once. Where followers are far away, these are the first few of many commands that come at about the same time, and the others
   * would wait for a round trip before they begin theirs. So an entry that has waited for FURTHER_AFTER_MILLIS may go as a further one, and the next one after twice that, and
   * so on, while all that is in flight is no more than inFlight full entries. Where followers are near, or more is proposed than the log takes, there are none.
   * Failure: while this replica does not lead, new and queued commands fail with NotLeaderException; after fail(), with
   * its exception. Commands already handed to Ratis' log fail with OutcomeUnknownException in both cases. The thread
   * keeps emptying the queue until stop(); after that, late proposers empty it themselves.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeProposer.class);

  private static final long FURTHER_AFTER_MILLIS = 5;

  private record Proposal<C, R>(long epoch, C command, @Nullable String source, int bytes, long proposedNanos, Completion<R> completion)
      implements CommandQueue.Waiting {}

  /** One log entry in flight. */
  final class Entry {
    private final long callId;
    private final List<Proposal<C, R>> proposals;
    private final int bytes;

    /** Those of which it has one. */
    private final Semaphore places;

    private volatile boolean appended; // single writer: the proposer thread, from within Ratis

    private Entry(long callId, List<Proposal<C, R>> proposals, int bytes, Semaphore places) {
      this.callId = callId;
      this.proposals = proposals;
      this.bytes = bytes;
      this.places = places;
    }

    int size() {
      return proposals.size();
    }

    void done(List<R> results) {
      answering();
      meters.applied(proposals.size());
      long now = System.nanoTime();
      for (int i = 0; i < proposals.size(); i++) {
        var proposal = proposals.get(i);
        meters.committed(now - proposal.proposedNanos());
        try {
          proposal.completion().done(results.get(i));
        } catch (RuntimeException e) {
          log.error("Range {}: a completion has thrown an exception", range, e);
        }
      }
    }

    /** Nothing of the entry was applied. */
    void refused(StoreException why) {
      failed(why);
    }

    void outcomeUnknown(StoreException cause) {
      failed(
          new OutcomeUnknownException(
              "range '" + range + "': it is unknown whether a command is done: " + cause.getMessage(), cause));
    }

    private void answering() {
      unanswered.remove(callId);
      places.release();
    }

    private void failed(StoreException e) {
      answering();
      proposals.forEach(proposal -> failProposal(proposal, e));
    }
  }

  private final RangeId range;
  private final StoreSettings settings;
  private final CommandCodec<C> codec;
  private final Leadership leadership;
  private final DiskSpace disk;
  private final RangeMeters meters;
  private final Consumer<StoreException> onFailure;
  private final Supplier<@Nullable RangeDescriptor> descriptor;
  private final CommandQueue<Proposal<C, R>> queue;
  private final ClientId clientId = ClientId.randomId();
  private final ByteString clientIdBytes = clientId.toByteString();
  private final ConcurrentMap<Long, Entry> inFlight = new ConcurrentHashMap<>();
  /** Entries in flight, and those applied whose rows are not written yet, by call id. */
  private final ConcurrentMap<Long, Entry> unanswered = new ConcurrentHashMap<>();

  /** For entries that go at once, and for further ones. */
  private final Semaphore usualPlaces;

  private final Semaphore furtherPlaces;

  /** Call ids that Ratis may forget; emptied with each entry, so about entries.inFlight long. */
  private final ConcurrentLinkedQueue<Long> replied = new ConcurrentLinkedQueue<>();

  /** The last thread that has begun {@link #together}, which wakes the proposer thread at its end; null when one has ended since. */
  private volatile @Nullable Thread gathering;

  private volatile @Nullable Thread thread; // set once
  private volatile @Nullable StoreException failure; // set once
  private volatile boolean parked; // single writer: the proposer thread
  private volatile boolean stopping;
  private volatile boolean stopped;
  private long nextCallId; // used by the proposer thread only

  RangeProposer(
      RangeId range,
      StoreSettings settings,
      CommandCodec<C> codec,
      Leadership leadership,
      DiskSpace disk,
      RangeMeters meters,
      Supplier<@Nullable RangeDescriptor> descriptor,
      Consumer<StoreException> onFailure) {
    this.range = range;
    this.settings = settings;
    this.codec = codec;
    this.leadership = leadership;
    this.disk = disk;
    this.meters = meters;
    this.descriptor = descriptor;
    this.onFailure = onFailure;
    queue = new CommandQueue<>(range, settings.queue().commandsMax(), settings.queue().bytesMax());
    usualPlaces = new Semaphore(settings.entries().inFlight());
    furtherPlaces = new Semaphore(settings.entries().inFlightMax() - settings.entries().inFlight());
    meters.gauge("dunlin.store.queued", "Commands that wait for the log", queue, CommandQueue::commands);
    meters.gauge("dunlin.store.queued.bytes", "Bytes of the commands that wait for the log", queue, CommandQueue::bytes);
    meters.gauge("dunlin.store.queued.callers", "Callers that wait for room in the queue", queue, CommandQueue::callersWaiting);
    meters.seconds(
        "dunlin.store.oldest", "How long the oldest command has waited for the log and to be applied", this,
        proposer -> proposer.oldestNanos(System.nanoTime()) / 1e9);
  }

  boolean propose(long epoch, C command, Completion<R> completion) {
    int bytes = codec.encodedLength(command);
    var kind = codec.kind(command);
    var refused = refusal(epoch, kind, bytes);
    if (refused != null) {
      completion.failed(refused);
      return true;
    }
    var proposal = new Proposal<>(epoch, command, codec.source(command), bytes, System.nanoTime(), completion);
    if (!queue.offer(proposal, kind)) {
      meters.commandRejected();
      wakeForMore(); // what is gathered must not wait for its end
      return false;
    }
    if (!Thread.currentThread().equals(gathering)) wakeForMore();
    return true;
  }

  /** See {@link Range#together}. */
  void together(Runnable proposals) {
    gathering = Thread.currentThread();
    try {
      proposals.run();
    } finally {
      gathering = null;
      wakeForMore();
    }
  }

  /** See {@link Range#whenRoom}. */
  boolean whenRoom(Runnable caller) {
    if (!queue.whenRoom(caller)) {
      meters.callerRejected();
      return false;
    }
    wakeForMore();
    return true;
  }

  /**
   * Wakes the thread after something was left for it. Volatile on both sides: either the thread sees that before it
   * parks, or we see it parked.
   */
  private void wakeForMore() {
    if (parked) LockSupport.unpark(thread);
    else if (stopped) failQueued();
  }

  /** Starts submitting to this server's replica, whenever that leads the range. */
  void start(RaftServer server, RaftGroupId group, String threadName) throws IOException {
    // The cast and not server.submitClientRequestAsync, which costs twice the CPU for a hop to a pool and back.
    var division = (RaftClientAsynchronousProtocol) server.getDivision(group);
    var started =
        Thread.ofPlatform().daemon().name(threadName).unstarted(() -> run(division, server.getId(), group));
    thread = started;
    started.start();
  }

  /** Claims an entry that is being applied, if it was proposed here and has not failed. The caller then completes it. */
  @Nullable Entry claim(ByteString proposedBy, long callId) {
    return proposedBy.equals(clientIdBytes) ? inFlight.remove(callId) : null;
  }

  /** Notes that an entry is about to be appended to the log; on the proposer thread, from within {@link #submit}. */
  void appending(long callId) {
    var entry = inFlight.get(callId);
    if (entry != null) entry.appended = true;
  }

  /** Fails queued commands when this replica has stopped leading; Ratis fails the entries in flight. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Fails everything queued or in flight, and all later proposals. */
  void fail(StoreException e) {
    if (failure == null) failure = e;
    // The proposer thread may be handing one of these to Ratis right now, so none is surely not done.
    for (var entry : inFlight.values()) if (inFlight.remove(entry.callId) != null) entry.outcomeUnknown(e);
    LockSupport.unpark(thread);
  }

  int queued() {
    return queue.commands();
  }

  /** How long the oldest command in flight has waited; 0 without any. Queued commands are younger, but for those of a source that has very many. */
  long oldestNanos(long nowNanos) {
    long oldest = 0;
    for (var entry : unanswered.values())
      for (var proposal : entry.proposals) oldest = Math.max(oldest, nowNanos - proposal.proposedNanos());
    return oldest;
  }

  /** Ends the thread; only after {@link #fail}. Answers whether it ended in time. */
  boolean stop(long untilNanos) throws InterruptedException {
    assert failure != null : "stopped before it failed";
    stopping = true;
    var running = thread;
    if (running == null) {
      stopped = true;
      failQueued();
      return true;
    }
    LockSupport.unpark(running);
    return running.join(Duration.ofNanos(Math.max(1, untilNanos - System.nanoTime())));
  }

  boolean hasDiskRoom() {
    return disk.takes(CommandKind.FLOW);
  }

  private @Nullable StoreException refusal(long epoch, CommandKind kind, int bytes) {
    var failed = failure;
    if (failed != null) return failed;
    if (!leadership.leading()) return leadership.notLeader();
    if (!disk.takes(kind)) return disk.refusal(range);
    var now = descriptor.get();
    if (now != null && now.epoch() != epoch) return new WrongEpochException(now, epoch);
    int most = settings.entries().bytesMax() - EntryFormat.headerBytes(epoch) - EntryFormat.COMMAND_HEADER_BYTES;
    if (bytes <= most) return null;
    return new StoreException("range '" + range + "': a command of " + bytes + " bytes exceeds the limit of " + most);
  }

  private void run(RaftClientAsynchronousProtocol division, RaftPeerId server, RaftGroupId group) {
    var request =
        RaftClientRequest.newBuilder()
            .setClientId(clientId)
            .setServerId(server)
            .setGroupId(group)
            .setType(RaftClientRequest.writeRequestType());
    try {
      while (awaitProposal()) {
        if (!accepting()) {
          failQueued();
          continue;
        }
        var places = takePlace();
        if (accepting()) submit(division, request, places);
        else {
          places.release();
          failQueued();
        }
      }
    } catch (Throwable e) { // the thread's outermost loop: without it the range accepts commands and does nothing
      onFailure.accept(new StoreException("range '" + range + "': its proposer failed: " + e, e));
    } finally {
      stopped = true;
      failQueued();
    }
  }

  private boolean accepting() {
    return failure == null && leadership.leading();
  }

  /** Waits for a proposal; false when there will be no more. */
  private boolean awaitProposal() {
    queue.tellRoom();
    while (queue.isEmpty()) {
      if (stopping) return false;
      parked = true;
      if (queue.isEmpty() && queue.callersWaiting() == 0 && !stopping) LockSupport.park(this);
      parked = false;
      queue.tellRoom();
    }
    return true;
  }

  /** Waits until one more entry may be in flight; answers the places of which one was taken. */
  private Semaphore takePlace() throws InterruptedException {
    while (!usualPlaces.tryAcquire(furtherAfterMillis(), TimeUnit.MILLISECONDS)) if (hasRoomForOneMore() && furtherPlaces.tryAcquire()) return furtherPlaces;
    return usualPlaces;
  }

  private long furtherAfterMillis() {
    int taken = settings.entries().inFlightMax() - settings.entries().inFlight() - furtherPlaces.availablePermits();
    return FURTHER_AFTER_MILLIS * (taken + 1);
  }

  /** Whether what is in flight and a full entry are no more than as many full entries as go at once. */
  private boolean hasRoomForOneMore() {
    var most = settings.entries();
    long commands = most.commandsMax();
    long bytes = most.fullAt();
    for (var entry : unanswered.values()) {
      commands += entry.size();
      bytes += entry.bytes;
    }
    return commands <= (long) most.inFlight() * most.commandsMax() && bytes <= (long) most.inFlight() * most.fullAt();
  }

  private void submit(RaftClientAsynchronousProtocol division, RaftClientRequest.Builder request, Semaphore places) {
    var proposals = new ArrayList<Proposal<C, R>>();
    ByteString bytes = fill(proposals);
    if (proposals.isEmpty()) {
      places.release();
      return;
    }
    var entry = new Entry(nextCallId++, proposals, bytes.size(), places);
    unanswered.put(entry.callId, entry);
    inFlight.put(entry.callId, entry);
    var failed = failure;
    if (failed != null) {
      if (inFlight.remove(entry.callId) != null) entry.failed(failed); // fail() may have run before the entry was registered
      return;
    }
    var forget = new ArrayList<Long>();
    for (Long callId; (callId = replied.poll()) != null; ) forget.add(callId);
    request.setCallId(entry.callId).setMessage(Message.valueOf(bytes)).setRepliedCallIds(forget);
    try {
      var _ = division.submitClientRequestAsync(request.build()).whenComplete((reply, e) -> ended(entry, reply, e));
    } catch (IOException | RuntimeException e) {
      ended(entry, null, e);
    }
  }

  /** Moves proposals from the queue into one entry, as many as fit, and returns its bytes. */
  private ByteString fill(List<Proposal<C, R>> proposals) {
    var first = queue.peek();
    long epoch = first == null ? EntryFormat.FIRST_EPOCH : first.epoch();
    int header = EntryFormat.headerBytes(epoch);
    int bytes = header;
    while (proposals.size() < settings.entries().commandsMax()) {
      var next = queue.peek();
      if (next == null || next.epoch() != epoch) break;
      int more = EntryFormat.COMMAND_HEADER_BYTES + next.bytes();
      if (!proposals.isEmpty() && bytes + more > settings.entries().fullAt()) break;
      queue.poll();
      proposals.add(next);
      bytes += more;
    }
    var out = ByteBuffer.allocate(bytes);
    out.position(header);
    proposals.removeIf(proposal -> !append(out, proposal));
    EntryFormat.begin(out.duplicate().rewind(), epoch, proposals.size());
    return UnsafeByteOperations.unsafeWrap(out.array(), 0, out.position());
  }

  /** Encodes one command; a codec that fails affects only that command. */
  private boolean append(ByteBuffer out, Proposal<C, R> proposal) {
    int start = out.position();
    try {
      EntryFormat.append(out, proposal.command(), proposal.bytes(), codec);
      return true;
    } catch (RuntimeException e) {
      out.position(start);
      failProposal(proposal, new StoreException("range '" + range + "': a command cannot be encoded: " + e, e));
      return false;
    }
  }

  /** Handles Ratis' answer. A success has already been reported by the applying thread, with the results. */
  private void ended(Entry entry, @Nullable RaftClientReply reply, @Nullable Throwable thrown) {
    Throwable e = thrown != null || reply == null ? thrown : reply.getException();
    if (e == null && reply != null && reply.isSuccess()) {
      replied.add(entry.callId);
      return;
    }
    if (inFlight.remove(entry.callId) == null) return;
    Throwable reason = e == null ? new IllegalStateException("no reason given") : e;
    if (entry.appended) {
      var cause = new StoreException("range '" + range + "': Ratis has abandoned an entry: " + reason.getMessage(), reason);
      entry.outcomeUnknown(cause);
    } else if (leads(reason)) {
      entry.failed(new StoreException("range '" + range + "': an entry was not accepted: " + reason, reason));
    } else {
      entry.failed(leadership.notLeader());
    }
  }

  private static boolean leads(Throwable refusal) {
    return !(refusal instanceof org.apache.ratis.protocol.exceptions.NotLeaderException
        || refusal instanceof LeaderNotReadyException
        || refusal instanceof LeaderSteppingDownException);
  }

  /** Called by the proposer thread; by any thread once that has stopped. */
  private synchronized void failQueued() {
    for (Proposal<C, R> proposal; (proposal = queue.poll()) != null; ) failProposal(proposal, refused());
    queue.tellRoom();
  }

  private StoreException refused() {
    var failed = failure;
    if (failed != null) return failed;
    return stopped ? new StoreException("range '" + range + "' has stopped") : leadership.notLeader();
  }

  private void failProposal(Proposal<C, R> proposal, StoreException e) {
    try {
      proposal.completion().failed(e);
    } catch (RuntimeException thrown) {
      log.error("Range {}: a completion has thrown an exception", range, thrown);
    }
  }
}
