package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.WithdrawnException;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.Outbox;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.link.Link;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session tier of another process, as a frontend uses it in one of its lives: calls over one link after another, which also bring what the tier says
 * to the frontend's connections, in its order. Futures complete on the links' thread; those that fail at once have failed when they are returned.
 *
 * <p>The class is long: it has a method for each call of the tier, and the calls share one order over all links.
 */
public final class RemoteInbox implements InboxClient {
  /*
   * Owner: any thread calls, and encodes what it calls; the link's thread sends, and takes what arrives.
   * Bounds: callsMax calls without an answer and bytesMax bytes of them: further ones fail, and are counted. CALL_BYTES_MAX for one call. Calls of
   *   settled() do not count: they cannot fail, and each connection that opens has one at most.
   *   Pages have room for fetchedMax bytes: a fetch takes what it asks for and one message more, and waits in a line until there is as much, or
   *   nothing else is fetched. So it may read later than what is called behind it takes effect.
   *   Acknowledgements that wait to be sent: see WaitingAcks. MISSING_MAX connections that are missing and of which the tier does not know yet; further
   *   ones are dropped and counted, since the next push finds them missing as well.
   *   CONNECTs wait until the tier has attached the frontend, in their order. One whose client gives up before it is sent is not sent, and fails at once with WithdrawnException: else it would take the
   *   session from a connection that the client has got at another frontend since. It counts no more from then on, so that clients which come and go do not take the room of others; its place
   *   in the line stays for some time, without the call. One that was sent counts until it is answered: its client may have the session.
   * Failure: nothing is sent while the tier is not connected; it waits, within the bounds. When a link is lost, calls that were sent and may be made
   *   twice are made again over the next one, in their order, and in front of all that waits. CONNECT, appendToGroup() and statistics() may not be made
   *   twice: those that were sent fail with OutcomeUnknownException. The latter two fail at once between two links. Acknowledgements that were sent are
   *   forgotten: once compared, connections read their inboxes again, and acknowledge again. Answers to the tier's questions are not sent over another
   *   link. A frame that cannot be read ends the link.
   *   When it is closed, everything that waits fails, but for settled(), which has its answer, and so does every later call.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RemoteInbox.class);
  private static final int CALL_BYTES = 64;
  private static final int CALL_BYTES_MAX = 16 << 20;
  private static final int MISSING_MAX = 4_096;

  /** Places of CONNECTs, beside twice as many as there are calls without an answer; with more, those that were withdrawn are removed. */
  private static final int PLACES_MORE = 1_024;

  /**
   * What may be on its way to the session tier.
   *
   * @param callsMax calls without an answer, from 1
   * @param bytesMax bytes of these, and 64 for each, from 1; not more than half of what the link takes
   * @param fetchedMax bytes of pages that are fetched, from 1; not more than half of what the link takes
   * @param messageMax bytes of the largest message there can be, from 1
   */
  public record Bounds(int callsMax, long bytesMax, long fetchedMax, int messageMax) {
    public Bounds {
      if (callsMax < 1) throw new IllegalArgumentException("callsMax " + callsMax);
      if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
      if (fetchedMax < 1) throw new IllegalArgumentException("fetchedMax " + fetchedMax);
      if (messageMax < 1) throw new IllegalArgumentException("messageMax " + messageMax);
    }

    /** 65,536 calls, 32 MiB of calls and of pages each, for links as {@link Link.Settings#defaults} has them. */
    public static Bounds defaults(int messageMax) {
      return new Bounds(65_536, 32L << 20, 32L << 20, messageMax);
    }
  }

  /** Learns what becomes of a link, on its thread. */
  @FunctionalInterface
  public interface Listener {
    /** The tier knows which connections the frontend has kept. */
    default void compared() {}

    /** The frontend is attached: sessions can be had. Before, CONNECT waits. */
    default void attached() {}

    /** The link is lost; it goes on with another one, or is to be closed. */
    void lost(String reason);
  }

  /** Something that is to be sent. */
  private sealed interface Waiting {
    record Acks(MergedAcks acks) implements Waiting {}

    record Missing(byte[] call) implements Waiting {}

    /** The next CONNECT. */
    record Connects() implements Waiting {}

    /**
     * The answer to a question.
     *
     * @param link the number of the link over which that came
     */
    record Replies(long link, byte[] call) implements Waiting {}

    /** A place in the line of CONNECTs. */
    final class Place implements Waiting {
      private final AtomicReference<@Nullable Asking<?>> connect;

      Place(Asking<?> connect) {
        this.connect = new AtomicReference<>(connect);
      }

      /** The CONNECT, for the first one who takes it; any thread. */
      @Nullable Asking<?> take() {
        return connect.getAndSet(null);
      }

      boolean isTaken() {
        return connect.get() == null;
      }
    }

    /** A call that is answered. */
    final class Asking<T> implements Waiting {
      final AnswerForm<T> form;
      final CompletableFuture<T> answer = new CompletableFuture<>();

      /** What it counts for among the calls without an answer; 0 for one that does not, and that does not fail. */
      final int size;

      /** What its page may have; 0 when it is no fetch. */
      final long page;

      /** Whether it may be made twice. */
      final boolean twice;

      final byte[] call;

      boolean hasRoom;

      /** Whether it was sent, over whichever link. */
      boolean sent;

      Asking(byte[] call, AnswerForm<T> form, int size, long page, boolean twice) {
        this.call = call;
        this.form = form;
        this.size = size;
        this.page = page;
        this.twice = twice;
      }

      /** Reads an answer; what is returned gives it. */
      Runnable read(byte[] bytes) throws MalformedFrameException {
        return form.decode(bytes, answer);
      }

      void fail(RuntimeException failure) {
        if (size == 0) answer.complete(null);
        else answer.completeExceptionally(failure);
      }
    }
  }

  private final class Stream implements Outbox.Sender<Waiting> {
    @Override
    public boolean waitsForConnection() {
      return true;
    }

    @Override
    public void write(FrameWriter out, Waiting item) {
      switch (item) {
        case Waiting.Acks(var acks) -> out.bytes(InboxCallCodec.encode(new InboxCall.Acknowledge(acks.session(), waitingAcks.take(acks))));
        case Waiting.Missing(var call) -> {
          missingWaiting.decrementAndGet();
          out.bytes(call);
        }
        case Waiting.Replies(var of, var call) -> {
          if (of == links) out.bytes(call);
        }
        case Waiting.Connects() -> connectNext(out);
        case Waiting.Place place -> line(out, place);
        case Waiting.Asking<?> asking -> ask(out, asking);
      }
    }

    @Override
    public void unsent(Waiting item) {
      switch (item) {
        case Waiting.Acks(var acks) -> waitingAcks.take(acks);
        case Waiting.Missing _ -> missingWaiting.decrementAndGet();
        case Waiting.Replies _, Waiting.Connects _ -> {}
        case Waiting.Place place -> fail(place, String.valueOf(over));
        case Waiting.Asking<?> asking -> fail(asking, String.valueOf(over));
      }
    }
  }

  /** What arrives over one link. */
  private final class Incoming implements Link.Handler {
    private final TierMessageCodec codec = new TierMessageCodec();
    private final long number;

    Incoming(long number) {
      this.number = number;
    }

    private boolean isPresent() {
      return linked && number == links;
    }

    @Override
    public void received(byte[] frame) {
      var in = new FrameReader(frame);
      try {
        while (in.hasMore() && isPresent()) take(codec.read(in));
        var from = link;
        if (from != null && isPresent()) from.confirmSoon(); // pushes of QoS 0 count as dropped when the link is lost before
      } catch (MalformedFrameException e) {
        LOG.error("The session tier has sent a frame that cannot be read: {}", e.getMessage());
        fail("the session tier has sent a frame that cannot be read: " + e.getMessage());
      } catch (RuntimeException e) {
        LOG.error("What the session tier has sent could not be handed on; its link is ended", e);
        fail("what the session tier has sent could not be handed on");
      }
    }

    private void fail(String reason) {
      if (!isPresent()) return;
      closeLink();
      linkLost(reason);
    }

    @Override
    public void lost(String reason) {
      if (isPresent()) linkLost(reason);
    }

    @Override
    public void confirmed() {
      outbox.turn();
    }

    @Override
    public void connected() {
      outbox.turn();
    }
  }

  private final String frontend;
  private final long life;
  private final KeptConnections connections;
  private final Bounds bounds;
  private final Listener listener;
  private final Outbox<Waiting> outbox;

  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  /** Places of CONNECTs that were withdrawn since such places were last removed from the outbox. */
  private final AtomicInteger emptyPlaces = new AtomicInteger();

  private final WaitingAcks waitingAcks = new WaitingAcks();
  private final AtomicInteger missingWaiting = new AtomicInteger();
  private final LongAdder refused = new LongAdder();
  private final LongAdder missingDropped = new LongAdder();
  private volatile @Nullable String over; // written by the link's thread
  private volatile boolean linked; // the same; the link may not be connected yet

  /** Null while there is none. */
  private @Nullable Link link;

  /** How many there have been. */
  private long links;

  private boolean comparing;

  /** Whether the tier has attached the frontend by the present link. */
  private boolean attached;

  /** CONNECTs that wait for that, and those that have come behind them. */
  private final ArrayDeque<Waiting.Place> connects = new ArrayDeque<>();

  /** Calls that were written, by their number, in their order. */
  private final Map<Long, Waiting.Asking<?>> pending = new LinkedHashMap<>();

  private long lastCall;
  private long questions;

  /** Fetches that wait until there is room for their pages, and what is taken of it. */
  private final ArrayDeque<Waiting.Asking<?>> fetchLine = new ArrayDeque<>();

  private long fetched;

  /**
   * Without a link.
   *
   * @param frontend its node id
   * @param life which life of it
   * @param connections of that life, called on the links' thread
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param listener learns what becomes of each link
   */
  public RemoteInbox(String frontend, long life, KeptConnections connections, Executor owner, Bounds bounds, Listener listener) {
    this.frontend = frontend;
    this.life = life;
    this.connections = connections;
    this.bounds = bounds;
    this.listener = listener;
    outbox = new Outbox<>(owner, new Stream());
  }

  /**
   * Begins a link, the first one or after the one before was lost. On the links' thread; does nothing when this is closed.
   *
   * @param dialler dials with the opening of this life ({@link InboxOpening#encode})
   */
  public void dial(SendingStream.Dialler dialler) {
    if (over != null) return;
    if (linked) throw new IllegalStateException("a link while there is one");
    var incoming = new Incoming(++links);
    linked = true;
    Link dialled;
    try {
      dialled = dialler.dial(incoming);
    } catch (RuntimeException e) {
      linked = false;
      throw e;
    }
    if (!linked) return; // it was lost at once
    link = dialled;
    outbox.opens(dialled);
  }

  private void linkLost(String reason) {
    link = null;
    linked = false;
    comparing = false;
    attached = false;
    lastCall = 0;
    questions = 0;
    var again = new ArrayList<Waiting>();
    var failing = new ArrayList<Waiting.Asking<?>>();
    for (var asking : pending.values()) {
      if (asking.twice) again.add(asking);
      else failing.add(asking);
    }
    pending.clear();
    outbox.pauses(again);
    for (var asking : failing) fail(asking, reason);
    listener.lost(reason);
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    return call(new InboxCall.Connect(request), AnswerForm.CONNECTED, 0, false, new CompletableFuture<>());
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request, CompletableFuture<Void> clientIsOver) {
    return call(new InboxCall.Connect(request), AnswerForm.CONNECTED, 0, false, clientIsOver);
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return call(session, new InboxCall.Subscribe(session, subscriptions), AnswerForm.FLAGS);
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return call(session, new InboxCall.Unsubscribe(session, filters), AnswerForm.FLAGS);
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    return call(session, new InboxCall.Disconnect(session, publishWill, sessionExpirySeconds), AnswerForm.NOTHING);
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return call(session, new InboxCall.Append(session, options, from, retained), AnswerForm.APPENDED);
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return callNow(new InboxCall.AppendToGroup(group, message, exchange), AnswerForm.FLAG);
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return call(session, new InboxCall.Received(session, sequence), AnswerForm.NOTHING);
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    return call(session, new InboxCall.Released(session, birth, packetId), AnswerForm.NOTHING);
  }

  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return call(session, new InboxCall.Forget(session, birth, packetId), AnswerForm.NOTHING);
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return call(session, new InboxCall.Delivered(session, packetIds), AnswerForm.NOTHING);
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return call(session, new InboxCall.IsTakenOver(session), AnswerForm.FLAG);
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    waitingAcks.mergeNoMore(session);
    return call(new InboxCall.Fetch(session, fromSequence, messagesMax, bytesMax), AnswerForm.PAGE, (long) bytesMax + bounds.messageMax(), true);
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    return callNow(new InboxCall.Statistics(), AnswerForm.STATISTICS);
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    if (over != null) return CompletableFuture.completedFuture(null);
    var asking = new Waiting.Asking<>(InboxCallCodec.encode(new InboxCall.Settled(displaced)), AnswerForm.NOTHING, 0, 0, true);
    outbox.add(asking);
    return asking.answer;
  }

  @Override
  public void missing(ConnectionId connection) {
    if (over != null) return;
    if (missingWaiting.incrementAndGet() > MISSING_MAX) {
      missingWaiting.decrementAndGet();
      missingDropped.increment();
      return;
    }
    outbox.add(new Waiting.Missing(InboxCallCodec.encode(new InboxCall.Missing(connection))));
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    if (over != null || sequences.length == 0) return;
    var begun = waitingAcks.add(session, sequences);
    if (begun != null) outbox.add(new Waiting.Acks(begun));
  }

  private <T> CompletableFuture<T> call(SessionRef session, InboxCall.Asking call, AnswerForm<T> form) {
    waitingAcks.mergeNoMore(session);
    return call(call, form, 0, true);
  }

  /** Of a call that fails between two links. */
  private <T> CompletableFuture<T> callNow(InboxCall.Asking call, AnswerForm<T> form) {
    if (over == null && !linked) return CompletableFuture.failedFuture(new StoreException("there is no link to the session tier"));
    return call(call, form, 0, false);
  }

  private <T> CompletableFuture<T> call(InboxCall.Asking call, AnswerForm<T> form, long page, boolean twice) {
    return call(call, form, page, twice, null);
  }

  /** @param withdrawing of a CONNECT, when it is to be withdrawn if it was not sent yet; null for other calls */
  private <T> CompletableFuture<T> call(InboxCall.Asking call, AnswerForm<T> form, long page, boolean twice, @Nullable CompletableFuture<Void> withdrawing) {
    String gone = over;
    if (gone != null) return CompletableFuture.failedFuture(new StoreException(gone));
    byte[] encoded = InboxCallCodec.encode(call);
    int size = encoded.length + CALL_BYTES;
    if (size > CALL_BYTES_MAX) return refuse("a call of " + size + " bytes, the most are " + CALL_BYTES_MAX);
    int waiting = calls.incrementAndGet();
    long waitingBytes = bytes.addAndGet(size);
    if (waiting > bounds.callsMax() || waitingBytes > bounds.bytesMax()) {
      release(size);
      return refuse("%d calls with %d bytes wait for the session tier".formatted(waiting - 1, waitingBytes - size));
    }
    var asking = new Waiting.Asking<>(encoded, form, size, page, twice);
    if (withdrawing == null) {
      outbox.add(asking);
    } else {
      var place = new Waiting.Place(asking);
      outbox.add(place);
      var _ = withdrawing.thenRun(() -> withdraw(place));
    }
    return asking.answer;
  }

  private void withdraw(Waiting.Place place) {
    var connect = place.take();
    if (connect == null) return;
    release(connect.size);
    connect.fail(new WithdrawnException("not sent: its client has given up"));
    // Without a link nothing is taken out of the outbox.
    int empty = emptyPlaces.incrementAndGet();
    if (empty > calls.get() + PLACES_MORE && emptyPlaces.compareAndSet(empty, 0)) outbox.removeIf(each -> each instanceof Waiting.Place it && it.isTaken());
  }

  /** What waits to be sent, with the places of CONNECTs that were withdrawn. */
  int waiting() {
    return outbox.waiting();
  }

  private <T> CompletableFuture<T> refuse(String why) {
    refused.increment();
    return CompletableFuture.failedFuture(new StoreException(why));
  }

  private void release(int size) {
    if (size == 0) return;
    calls.decrementAndGet();
    bytes.addAndGet(-size);
  }

  // -------------------------------------------------------------------------------------------------------- on the link's thread

  private void ask(FrameWriter out, Waiting.Asking<?> asking) {
    if (asking.page > 0 && !asking.hasRoom) {
      if (!fetchLine.isEmpty() || !roomFor(asking)) {
        fetchLine.add(asking);
        return;
      }
      takeRoom(asking);
    }
    send(out, asking);
  }

  private void line(FrameWriter out, Waiting.Place place) {
    if (place.isTaken()) return;
    if (connects.size() > 2 * calls.get() + PLACES_MORE) connects.removeIf(Waiting.Place::isTaken);
    connects.add(place);
    if (connects.size() == 1) connectNext(out);
  }

  /** Sends the next CONNECT whose client still waits, if the frontend is attached. The one behind it has a turn of its own. */
  private void connectNext(FrameWriter out) {
    while (attached && !connects.isEmpty()) {
      var next = connects.remove().take();
      if (next == null) continue;
      send(out, next);
      break;
    }
    if (attached && !connects.isEmpty()) outbox.add(new Waiting.Connects());
  }

  private void send(FrameWriter out, Waiting.Asking<?> asking) {
    asking.sent = true;
    pending.put(++lastCall, asking);
    out.bytes(asking.call);
  }

  private boolean roomFor(Waiting.Asking<?> fetch) {
    return fetched == 0 || fetched + fetch.page <= bounds.fetchedMax();
  }

  private void takeRoom(Waiting.Asking<?> fetch) {
    fetch.hasRoom = true;
    fetched += fetch.page;
  }

  private void take(TierMessage said) throws MalformedFrameException {
    switch (said) {
      case TierMessage.Push(var connection, var message) -> connections.push(id(connection), message);
      case TierMessage.Behind(var connection) -> connections.behind(id(connection));
      case TierMessage.Displaced(var connection) -> connections.displaced(id(connection));
      case TierMessage.Dismissed(var connection) -> connections.dismissed(id(connection));
      case TierMessage.AskSettled(var connection) -> {
        var answer = new Waiting.Replies(links, InboxCallCodec.encode(new InboxCall.HasSettled(++questions)));
        var _ = connections.settled(id(connection)).whenComplete((_, _) -> outbox.add(answer));
      }
      case TierMessage.Comparing() -> {
        comparing = true;
        connections.comparing();
      }
      case TierMessage.AskMissing(var owners) -> askMissing(owners);
      case TierMessage.Compared() -> {
        expectComparing();
        comparing = false;
        connections.compared();
        listener.compared();
      }
      case TierMessage.Answer(var number, var answer) -> answered(number, answer);
      case TierMessage.Attached() -> {
        attached = true;
        outbox.add(new Waiting.Connects());
        listener.attached();
      }
    }
  }

  private void askMissing(List<KeptConnections.Owner> owners) throws MalformedFrameException {
    expectComparing();
    long number = ++questions;
    long of = links;
    var _ =
        connections
            .missing(owners)
            .thenAccept(
                missing -> {
                  var answer = new InboxCall.AreMissing(number, missing.stream().mapToLong(Long::longValue).toArray());
                  outbox.add(new Waiting.Replies(of, InboxCallCodec.encode(answer)));
                });
  }

  private void expectComparing() throws MalformedFrameException {
    if (!comparing) throw new MalformedFrameException("a comparison that has not begun");
  }

  private ConnectionId id(long connection) {
    return new ConnectionId(frontend, life, connection);
  }

  private void answered(long number, byte[] answer) throws MalformedFrameException {
    var asking = pending.get(number);
    if (asking == null) throw new MalformedFrameException("call " + number + " is not waited for");
    var gives = asking.read(answer);
    pending.remove(number);
    release(asking.size);
    if (asking.page > 0) giveRoom(asking);
    gives.run();
  }

  private void giveRoom(Waiting.Asking<?> fetch) {
    fetched -= fetch.page;
    for (var next = fetchLine.peek(); next != null && roomFor(next); next = fetchLine.peek()) {
      takeRoom(next);
      outbox.add(fetchLine.remove());
    }
  }

  /** Which life of the frontend it is for. */
  public long life() {
    return life;
  }

  /** Whether a session tier is at the other end of the present link. On the links' thread. */
  public boolean isConnected() {
    return link != null && link.isConnected();
  }

  /** Ends this life: the tier treats its connections as lost. On the links' thread; a second time it does nothing. */
  public void close(String reason) {
    if (over != null) return;
    over = reason;
    linked = false;
    closeLink();
    link = null;
    outbox.end();
    for (var connect = connects.poll(); connect != null; connect = connects.poll()) fail(connect, reason);
    for (var fetch = fetchLine.poll(); fetch != null; fetch = fetchLine.poll()) fail(fetch, reason);
    var sent = List.copyOf(pending.values());
    pending.clear();
    for (var asking : sent) fail(asking, reason);
  }

  private void closeLink() {
    if (link != null) link.close();
  }

  private void fail(Waiting.Place place, String reason) {
    var connect = place.take();
    if (connect != null) fail(connect, reason);
  }

  private void fail(Waiting.Asking<?> asking, String reason) {
    release(asking.size);
    asking.fail(
        asking.sent
            ? new OutcomeUnknownException("it is unknown whether the session tier has done what it was asked: " + reason, new StoreException(reason))
            : new StoreException("not sent: " + reason));
  }

  // ------------------------------------------------------------------------------------------------------------------ figures

  /** Calls without an answer, but for those of settled(); any thread. */
  public int calls() {
    return calls.get();
  }

  /** Their bytes, and 64 for each; any thread. */
  public long bytes() {
    return bytes.get();
  }

  /** Acknowledged sequences that wait to be sent, and 16 for each session; any thread. */
  public int acknowledgementsWaiting() {
    return waitingAcks.waiting();
  }

  /** Sessions whose acknowledgements wait to be sent and may merge with further ones; any thread. */
  public int sessionsAcknowledging() {
    return waitingAcks.sessionsMerging();
  }

  /** Calls that failed since too many waited; any thread. */
  public long refused() {
    return refused.sum();
  }

  /** Acknowledged sequences that were dropped since too many waited; any thread. */
  public long acknowledgementsDropped() {
    return waitingAcks.dropped();
  }

  /** Connections that were missing and not said to be, since too many waited; any thread. */
  public long missingDropped() {
    return missingDropped.sum();
  }
}
