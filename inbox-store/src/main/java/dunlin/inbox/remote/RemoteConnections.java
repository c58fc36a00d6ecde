package dunlin.inbox.remote;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.KeptConnections;
import dunlin.model.Publication;
import dunlin.store.StoreException;
import dunlin.transport.call.Outbox;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The connections of a frontend in another process, as the session tier reaches them: one ordered stream of messages, notices and answers. */
public final class RemoteConnections implements KeptConnections {
  /*
   * Owner: any thread calls it as Connections; the link's thread sends, and calls all else.
   * Bounds: messagesMax pushes and bytesMax bytes of them that wait or that the frontend has not confirmed. A message for several connections in a
   *   row counts its bytes once; the one that passes a bound is still taken. All else is sent in any case: answers are bounded by the calls of the
   *   frontend, which reserves room for pages, the rest by its connections; questions for what is missing by who asks, one at a time.
   * Full: a stored message is left in its inbox, and its connection is noted to be behind: at most one note for each, which is sent when less than
   *   half of the bounds is taken. A message of QoS 0 is dropped and counted.
   * Failure: with the link nothing is said any more. What is asked to settle has its answer; what is missing is not known. QoS 0 that was not sent, or
   *   not confirmed, is counted as dropped.
   *
   * A connection stops counting as noted when its note is written. So a message that is stored later is either in what the connection reads upon
   * the note, or brings a push or a note of its own.
   */
  private static final int PUSH_BYTES = 64;

  /**
   * What may be on its way to one frontend.
   *
   * @param messagesMax pushes, from 1
   * @param bytesMax bytes of their messages and 64 for each, from 1; not more than half of what the link takes
   */
  public record Bounds(int messagesMax, long bytesMax) {
    public Bounds {
      if (messagesMax < 1) throw new IllegalArgumentException("messagesMax " + messagesMax);
      if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
    }

    /** 65,536 pushes, 32 MiB, for links as {@link Link.Settings#defaults} has them. */
    public static Bounds defaults() {
      return new Bounds(65_536, 32L << 20);
    }
  }

  /** Something that is to be sent. */
  private sealed interface Waiting {
    record Pushed(TierMessage.Push push, int bytes) implements Waiting {}

    record Noted(long connection) implements Waiting {}

    record Told(TierMessage said) implements Waiting {}

    record Asked(long connection, CompletableFuture<Void> settled) implements Waiting {}

    record AskedMissing(List<Owner> owners, CompletableFuture<List<Long>> missing) implements Waiting {}

    /** An answer; its bytes are made on the link's thread. */
    record Answered(long call, Supplier<byte[]> bytes) implements Waiting {}
  }

  /** Something that the frontend is to answer. */
  private sealed interface Question {
    record Settles(CompletableFuture<Void> settled) implements Question {}

    record Misses(List<Owner> owners, CompletableFuture<List<Long>> missing) implements Question {}
  }

  /**
   * Pushes of a frame.
   *
   * @param ofQos0 how many of them are of QoS 0
   * @param followed those of QoS 0 that a trace follows
   */
  private record Load(int messages, long bytes, int ofQos0, List<Publication> followed) {
    static final Load NONE = new Load(0, 0, 0, List.of());

    Load plus(int size) {
      return new Load(messages + 1, bytes + size, ofQos0, followed);
    }

    /** @param noted the message if a trace follows it; else null */
    Load plusOfQos0(int size, @Nullable Publication noted) {
      if (noted == null) return new Load(messages + 1, bytes + size, ofQos0 + 1, followed);
      List<Publication> more = followed.isEmpty() ? new ArrayList<>(1) : followed; // all loads of one frame share it
      more.add(noted);
      return new Load(messages + 1, bytes + size, ofQos0 + 1, more);
    }

    /** Of QoS 0, in any order. */
    void countLost(UnacknowledgedDrops drops) {
      followed.forEach(drops::countUnreachable);
      for (int i = followed.size(); i < ofQos0; i++) drops.countUnreachable(null);
    }
  }

  private final class Stream implements Outbox.Sender<Waiting> {
    @Override
    public void begins() {
      giveBack();
      if (!hasRoom()) return;
      for (Long noted = notesWaiting.poll(); noted != null; noted = notesWaiting.poll()) outbox.add(new Waiting.Noted(noted));
    }

    @Override
    public void write(FrameWriter out, Waiting item) {
      switch (item) {
        case Waiting.Pushed(var push, var size) -> {
          codec.write(out, push);
          frame = push.message().sequence() == 0 ? frame.plusOfQos0(size, drops.followed(push.message().message())) : frame.plus(size);
        }
        case Waiting.Noted(var connection) -> {
          behind.remove(connection);
          codec.write(out, new TierMessage.Behind(connection));
        }
        case Waiting.Told(var said) -> codec.write(out, said);
        case Waiting.Asked(var connection, var settled) -> {
          asked.put(++questions, new Question.Settles(settled));
          codec.write(out, new TierMessage.AskSettled(connection));
        }
        case Waiting.AskedMissing(var owners, var missing) -> {
          asked.put(++questions, new Question.Misses(owners, missing));
          codec.write(out, new TierMessage.AskMissing(owners));
        }
        case Waiting.Answered(var call, var answer) -> codec.write(out, new TierMessage.Answer(call, answer.get()));
      }
    }

    @Override
    public void sent() {
      unconfirmed.add(frame);
      frame = Load.NONE;
    }

    @Override
    public void unsent(Waiting item) {
      switch (item) {
        case Waiting.Pushed(var push, var size) -> {
          if (push.message().sequence() == 0) drops.countUnreachable(push.message().message());
          release(1, size);
        }
        case Waiting.Asked(_, var settled) -> settled.completeExceptionally(isOver());
        case Waiting.AskedMissing(_, var missing) -> missing.completeExceptionally(isOver());
        case Waiting.Noted _, Waiting.Told _, Waiting.Answered _ -> {}
      }
    }
  }

  private final Link link;
  private final InboxOpening frontend;
  private final Bounds bounds;
  private final UnacknowledgedDrops drops;
  private final Outbox<Waiting> outbox;
  private final TierMessageCodec codec = new TierMessageCodec();

  private final AtomicInteger messages = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  /** Connections that are noted to be behind, until their note is written. */
  private final Set<Long> behind = ConcurrentHashMap.newKeySet();

  /** Those of them whose note waits for room. */
  private final ConcurrentLinkedQueue<Long> notesWaiting = new ConcurrentLinkedQueue<>();

  /** Whose bytes are counted already. Two threads that push at once may count them twice. */
  private volatile @Nullable Publication last;

  private volatile boolean over; // written by the link's thread
  private final LongAdder leftOut = new LongAdder();
  private final LongAdder notes = new LongAdder();

  /** Pushes of the frame that is being written, and of each that is not confirmed. */
  private Load frame = Load.NONE;

  private final ArrayDeque<Load> unconfirmed = new ArrayDeque<>();

  /** By the number of the question. */
  private final Map<Long, Question> asked = new HashMap<>();

  private long questions;

  /** @param drops counts the messages of QoS 0 that are dropped */
  RemoteConnections(Link link, Executor owner, InboxOpening frontend, Bounds bounds, UnacknowledgedDrops drops) {
    this.link = link;
    this.frontend = frontend;
    this.bounds = bounds;
    this.drops = drops;
    outbox = new Outbox<>(owner, new Stream());
    outbox.opens(link);
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    if (!isHere(connection)) return;
    if (over || isFull()) {
      if (message.sequence() > 0) leaveOut(connection.number());
      else if (over) drops.countUnreachable(message.message());
      else drops.countOverloaded(message.message());
      return;
    }
    outbox.add(new Waiting.Pushed(new TierMessage.Push(connection.number(), message), reserve(message.message())));
  }

  private boolean isFull() {
    return messages.get() >= bounds.messagesMax() || bytes.get() >= bounds.bytesMax();
  }

  /** Whether less than half of the bounds is taken. */
  private boolean hasRoom() {
    return messages.get() < (bounds.messagesMax() + 1) / 2 && bytes.get() < (bounds.bytesMax() + 1) / 2;
  }

  @SuppressWarnings("ReferenceEquality") // it is the same object that goes to several connections
  private int reserve(Publication message) {
    int size = PUSH_BYTES + (message == last ? 0 : message.body().length);
    last = message;
    messages.incrementAndGet();
    bytes.addAndGet(size);
    return size;
  }

  private void release(int count, long size) {
    messages.addAndGet(-count);
    bytes.addAndGet(-size);
  }

  private void leaveOut(long connection) {
    leftOut.increment();
    note(connection);
  }

  @Override
  public void behind(ConnectionId connection) {
    if (isHere(connection)) note(connection.number());
  }

  private void note(long connection) {
    if (over || !behind.add(connection)) return;
    notes.increment();
    notesWaiting.add(connection);
    outbox.announce();
  }

  /** The frontend is attached. Any thread. */
  void attached() {
    outbox.add(new Waiting.Told(new TierMessage.Attached()));
  }

  @Override
  public void displaced(ConnectionId connection) {
    if (isHere(connection)) outbox.add(new Waiting.Told(new TierMessage.Displaced(connection.number())));
  }

  @Override
  public void dismissed(ConnectionId connection) {
    if (isHere(connection)) outbox.add(new Waiting.Told(new TierMessage.Dismissed(connection.number())));
  }

  /** Completes on the link's thread; fails when the link is lost. */
  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    if (!isHere(connection)) return CompletableFuture.completedFuture(null);
    if (over) return CompletableFuture.failedFuture(isOver());
    var settled = new CompletableFuture<Void>();
    outbox.add(new Waiting.Asked(connection.number(), settled));
    return settled;
  }

  @Override
  public void comparing() {
    outbox.add(new Waiting.Told(new TierMessage.Comparing()));
  }

  /** Completes on the link's thread, and fails when the link is lost. */
  @Override
  public CompletableFuture<List<Long>> missing(List<Owner> owners) {
    var missing = new CompletableFuture<List<Long>>();
    outbox.add(new Waiting.AskedMissing(owners, missing));
    return missing;
  }

  @Override
  public void compared() {
    outbox.add(new Waiting.Told(new TierMessage.Compared()));
  }

  private static StoreException isOver() {
    return new StoreException("the link to the frontend is over");
  }

  private boolean isHere(ConnectionId connection) {
    return connection.incarnation() == frontend.incarnation() && connection.frontend().equals(frontend.frontend());
  }

  /** Answers a call, behind all that was said before. Any thread. */
  void answer(long call, Supplier<byte[]> answer) {
    outbox.add(new Waiting.Answered(call, answer));
  }

  void hasSettled(long question) throws MalformedFrameException {
    if (!(asked.remove(question) instanceof Question.Settles(var settled))) throw notAsked(question);
    settled.complete(null);
  }

  void areMissing(long question, long[] connections) throws MalformedFrameException {
    if (!(asked.remove(question) instanceof Question.Misses(var owners, var missing))) throw notAsked(question);
    var numbers = owners.stream().map(Owner::connection).collect(Collectors.toSet());
    var found = Arrays.stream(connections).boxed().toList();
    if (!numbers.containsAll(found)) throw new MalformedFrameException("connections that were not asked for are missing");
    missing.complete(found);
  }

  private static MalformedFrameException notAsked(long question) {
    return new MalformedFrameException("question " + question + " is not waited for");
  }

  /** The frontend has confirmed some of what was sent. */
  void confirmed() {
    outbox.turn();
  }

  private void giveBack() {
    while (unconfirmed.size() > link.unconfirmedFrames()) {
      var arrived = unconfirmed.remove();
      release(arrived.messages(), arrived.bytes());
    }
  }

  /** Ends the link, which is lost for the frontend then; it may go on over another one. On the link's thread; a second time it does nothing. */
  public void close() {
    link.close();
    end();
  }

  /** The link is over. */
  void end() {
    if (over) return;
    over = true;
    outbox.end();
    unconfirmed.add(frame);
    frame = Load.NONE;
    for (Load each : unconfirmed) each.countLost(drops);
    giveBack();
    var left = List.copyOf(asked.values());
    asked.clear();
    for (var question : left) {
      switch (question) {
        case Question.Settles(var settled) -> settled.completeExceptionally(isOver());
        case Question.Misses(_, var missing) -> missing.completeExceptionally(isOver());
      }
    }
  }

  /** Pushes that wait or are not confirmed; any thread. */
  public int messages() {
    return messages.get();
  }

  /** Their bytes; any thread. */
  public long bytes() {
    return bytes.get();
  }

  /** Stored messages that were not pushed and are read from the inbox instead; any thread. */
  public long leftOut() {
    return leftOut.sum();
  }

  /** How often a connection was noted to be behind; any thread. */
  public long notes() {
    return notes.sum();
  }
}
