package dunlin.transport.call;

import dunlin.transport.call.CallLinks.AnswerReader;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.link.Link;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of one link. Both sides count them from 1.
 *
 * <pre>
 *   to the tier     for each call: length, bytes
 *   from the tier   0 when it has taken the link; for each answer: number of the call, octet and what it says (CallProtocol)
 * </pre>
 */
final class CallStream implements Link.Handler, Outbox.Sender<CallStream.Call<?>> {
  /*
   * Owner: the link's thread, but for call(), which any thread calls.
   * Bounds: CallLoad has counted each call before it comes here. Answers have room for answersMax bytes: a call takes what its answer may have, and waits in
   *   a line until there is as much, or nothing else is read. So it may read later than what is called behind it takes effect.
   * Full: nothing is sent until the tier has taken the link, and while it is half full (Outbox).
   * Failure: with the link all calls fail, those that were written as unknown. A frame that cannot be read ends the link.
   */
  private static final Logger LOG = LoggerFactory.getLogger(CallStream.class);
  static final int TAKEN = 0;

  /** Learns what becomes of the link, on its thread. */
  interface Listener {
    /** The tier takes calls on it. */
    void taken();

    /** The link is lost, once, and all calls are about to fail. */
    void lost(String reason);
  }

  /** One that is not answered. */
  static final class Call<T> {
    private final AnswerReader<T> reader;
    private final CompletableFuture<T> answer = new CompletableFuture<>();
    private final int size;
    private final long answerBytes;
    private final BooleanSupplier wanted;
    private boolean hasRoom;

    /** Null once they were written. */
    private byte @Nullable [] bytes;

    private Call(byte[] bytes, long answerBytes, AnswerReader<T> reader, BooleanSupplier wanted) {
      this.bytes = bytes;
      this.answerBytes = answerBytes;
      this.reader = reader;
      this.wanted = wanted;
      size = CallBounds.sizeOf(bytes);
    }

    /** Reads an answer; what is returned gives it. */
    private Runnable read(byte[] value) throws MalformedFrameException {
      @Nullable T read = reader.read(value);
      return () -> answer.complete(read);
    }
  }

  private final CallProtocol protocol;
  private final long answersMax;
  private final CallLoad load;
  private final Listener listener;
  private final Outbox<Call<?>> outbox;
  private @Nullable Link link;
  private @Nullable String over;
  private boolean taken;

  /** Calls that were written, by their number. */
  private final Map<Long, Call<?>> pending = new HashMap<>();

  private long lastCall;

  /** Calls that wait until there is room for their answers, and what is taken of it. */
  private final ArrayDeque<Call<?>> line = new ArrayDeque<>();

  private long answersTaken;

  CallStream(CallProtocol protocol, Executor owner, long answersMax, CallLoad load, Listener listener) {
    this.protocol = protocol;
    this.answersMax = answersMax;
    this.load = load;
    this.listener = listener;
    outbox = new Outbox<>(owner, this);
  }

  void begin(SendingStream.Dialler dialler) {
    link = dialler.dial(this);
  }

  /** Any thread. */
  <T> CompletableFuture<T> call(byte[] bytes, long answerBytes, AnswerReader<T> reader, BooleanSupplier wanted) {
    var call = new Call<>(bytes, answerBytes, reader, wanted);
    outbox.add(call);
    return call.answer;
  }

  @Override
  public void write(FrameWriter out, Call<?> call) {
    byte[] bytes = call.bytes;
    if (bytes == null) throw new IllegalStateException("a call that was written before");
    if (!call.wanted.getAsBoolean()) {
      fail(call, "it is not wanted any more");
      return;
    }
    if (call.answerBytes > 0 && !call.hasRoom) {
      if (!line.isEmpty() || !roomFor(call)) {
        line.add(call);
        return;
      }
      takeRoom(call);
    }
    call.bytes = null;
    pending.put(++lastCall, call);
    out.bytes(bytes);
  }

  private boolean roomFor(Call<?> call) {
    return answersTaken == 0 || answersTaken + call.answerBytes <= answersMax;
  }

  private void takeRoom(Call<?> call) {
    call.hasRoom = true;
    answersTaken += call.answerBytes;
  }

  @Override
  public void received(byte[] frame) {
    var in = new FrameReader(frame);
    try {
      while (in.hasMore() && over == null) take(in);
    } catch (MalformedFrameException e) {
      LOG.error("The {} has sent a frame that cannot be read: {}", protocol.tier(), e.getMessage());
      endLink("it has sent a frame that cannot be read: " + e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("An answer of the {} could not be handed on; its link is ended", protocol.tier(), e);
      endLink("an answer could not be handed on");
    }
  }

  private void take(FrameReader in) throws MalformedFrameException {
    long number = in.number();
    if (number == TAKEN) {
      if (taken) throw new MalformedFrameException("the link is taken twice");
      taken = true;
      outbox.opens(Objects.requireNonNull(link));
      listener.taken();
      return;
    }
    var call = pending.get(number);
    if (call == null) throw new MalformedFrameException("call " + number + " is not waited for");
    var gives = readAnswer(call, in);
    pending.remove(number);
    load.give(call.size);
    if (call.answerBytes > 0) giveRoom(call);
    gives.run();
  }

  private Runnable readAnswer(Call<?> call, FrameReader in) throws MalformedFrameException {
    int octet = in.octet();
    if (octet == CallProtocol.VALUE) return call.read(in.bytes());
    var failure = protocol.read(octet, in);
    return () -> call.answer.completeExceptionally(failure);
  }

  private void giveRoom(Call<?> answered) {
    answersTaken -= answered.answerBytes;
    for (var next = line.peek(); next != null && roomFor(next); next = line.peek()) {
      takeRoom(next);
      outbox.add(line.remove());
    }
  }

  private void endLink(String reason) {
    if (link != null) link.close();
    lost(reason);
  }

  @Override
  public void lost(String reason) {
    if (over != null) return;
    over = "the link to the " + protocol.tier() + " is lost: " + reason;
    listener.lost(reason);
    end();
  }

  @Override
  public void confirmed() {
    outbox.turn();
  }

  /** Ends the link as if it was lost. Once it is over it does nothing. */
  void lose(String reason) {
    if (over == null) endLink(reason);
  }

  /** Ends the link, without telling the listener. A second time it does nothing. */
  void close() {
    if (over != null) return;
    over = "the link to the " + protocol.tier() + " was closed";
    if (link != null) link.close();
    end();
  }

  private void end() {
    outbox.end();
    for (var call = line.poll(); call != null; call = line.poll()) unsent(call);
    var sent = List.copyOf(pending.values());
    pending.clear();
    for (var call : sent) {
      load.give(call.size);
      call.answer.completeExceptionally(protocol.unknown().apply("it is unknown whether the " + protocol.tier() + " has done what it was asked: " + over));
    }
  }

  @Override
  public void unsent(Call<?> call) {
    fail(call, String.valueOf(over));
  }

  private void fail(Call<?> call, String why) {
    load.give(call.size);
    call.answer.completeExceptionally(protocol.notMade().apply("not sent: " + why));
  }
}
