package dunlin.transport.call;

import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.LinkRefusedException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The side that is called: makes the calls of each link in their order and sends the answers, in the order in which they come. */
public final class CallReceiver implements LinkAcceptor.Factory {
  /*
   * Owner: the links' thread, on which all calls are made. Answers come from any thread.
   * Bounds: CallBounds for each link, of calls that are not answered or whose answers wait to be sent: beyond, the link is ended. An answer of more than
   *   ANSWER_BYTES_MAX becomes a failure. Bytes of answers are bounded by the callers, which put room aside for large ones. The last link of
   *   CALLERS_MAX callers is remembered; beyond, those without a link are forgotten, the oldest first.
   * Full: no answer is sent while its link is half full (Outbox).
   * Failure: a frame that cannot be read ends the link; a call that throws is answered so. What is called when the link ends goes on; its answer is
   *   dropped.
   *
   * A caller has one link at a time. The next one ends the one before, of which nothing is made any more. One that began before it and comes late is refused.
   */
  private static final Logger LOG = LoggerFactory.getLogger(CallReceiver.class);
  private static final int ANSWER_BYTES_MAX = 16 << 20;
  private static final int CALLERS_MAX = 4_096;

  /** What is called. */
  @FunctionalInterface
  public interface Answerer {
    /**
     * Makes a call. On the links' thread; never blocks.
     *
     * @return the answer, now or later, on any thread
     * @throws MalformedFrameException when it cannot be read, or may not be made; the link is ended
     */
    CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException;
  }

  /** An answer that is to be sent. */
  private record Answer(long call, int size, byte @Nullable [] value, @Nullable Throwable failure) {}

  private final CallProtocol protocol;
  private final Executor owner;
  private final CallBounds bounds;
  private final Function<String, Answerer> answerers;
  private final AtomicInteger unanswered = new AtomicInteger();

  /** The last link of each caller, by its name. */
  private final Map<String, Stream> callers = new LinkedHashMap<>();

  /**
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param bounds no smaller than those of the callers
   */
  public CallReceiver(CallProtocol protocol, Executor owner, CallBounds bounds, Answerer answerer) {
    this(protocol, owner, bounds, (Function<String, Answerer>) _ -> answerer);
  }

  /**
   * The same with answers that depend on who calls.
   *
   * @param answerers gives what the node at the other side of a link calls, by its identity
   */
  public CallReceiver(CallProtocol protocol, Executor owner, CallBounds bounds, Function<String, Answerer> answerers) {
    this.protocol = protocol;
    this.owner = owner;
    this.bounds = bounds;
    this.answerers = answerers;
  }

  @Override
  public Link.Handler open(Link link, byte[] opening) {
    var from = CallOpening.decode(opening, protocol).of(link.caller());
    var before = callers.get(from.caller());
    if (before != null && !from.isLaterThan(before.from)) throw new LinkRefusedException("A later link of the same caller has begun.");
    if (before == null && callers.size() == CALLERS_MAX) forgetOne();
    if (before != null) before.end("its caller has begun another one");
    var stream = new Stream(link, from);
    callers.remove(from.caller());
    callers.put(from.caller(), stream);
    link.send(new FrameWriter().number(CallStream.TAKEN).take());
    return stream;
  }

  private void forgetOne() {
    var gone = callers.values().stream().filter(each -> each.link.isLost()).findFirst();
    callers.remove(gone.orElseThrow(() -> new LinkRefusedException("There are " + CALLERS_MAX + " callers already.")).from.caller());
  }

  private final class Stream implements Link.Handler, Outbox.Sender<Answer> {
    private final Link link;
    private final CallOpening from;
    private final Answerer answerer;
    private final CallLoad load = new CallLoad(bounds);
    private final Outbox<Answer> outbox = new Outbox<>(owner, this);
    private long calls;

    Stream(Link link, CallOpening from) {
      this.link = link;
      this.from = from;
      answerer = answerers.apply(link.caller());
      outbox.opens(link);
    }

    @Override
    public void received(byte[] frame) {
      var in = new FrameReader(frame);
      try {
        while (in.hasMore() && !link.isLost()) take(in.bytes());
      } catch (MalformedFrameException e) {
        LOG.error("Caller {} has sent a frame that cannot be read, or a call that it may not make: {}", from.caller(), e.getMessage());
        end("it has sent a frame that cannot be read, or a call that it may not make");
      }
    }

    private void take(byte[] call) throws MalformedFrameException {
      int size = CallBounds.sizeOf(call);
      if (!load.take(size)) throw new MalformedFrameException("more unanswered calls than " + load);
      unanswered.incrementAndGet();
      long number = ++calls;
      CompletableFuture<byte[]> answer;
      try {
        answer = answerer.answer(call);
      } catch (RuntimeException e) {
        answer = CompletableFuture.failedFuture(e);
      } catch (MalformedFrameException e) {
        answered(size);
        throw e;
      }
      var _ = answer.whenComplete((value, failure) -> outbox.add(new Answer(number, size, value, failure)));
    }

    @Override
    public void write(FrameWriter out, Answer answer) {
      answered(answer.size);
      out.number(answer.call);
      byte[] value = answer.value;
      if (value != null && value.length <= ANSWER_BYTES_MAX) out.octet(CallProtocol.VALUE).bytes(value);
      else protocol.write(out, answer.failure != null ? answer.failure : tooLarge(value));
    }

    private RuntimeException tooLarge(byte @Nullable [] value) {
      if (value == null) return protocol.notMade().apply("no answer");
      return protocol.notMade().apply("an answer of " + value.length + " bytes, the most are " + ANSWER_BYTES_MAX);
    }

    @Override
    public void unsent(Answer answer) {
      answered(answer.size);
    }

    private void answered(int size) {
      load.give(size);
      unanswered.decrementAndGet();
    }

    @Override
    public void confirmed() {
      outbox.turn();
    }

    @Override
    public void lost(String reason) {
      outbox.end();
      LOG.info("The link of caller {} has ended with {} not answered: {}", from.caller(), load, reason);
    }

    private void end(String reason) {
      if (link.isLost()) return;
      link.close();
      lost(reason);
    }
  }

  /** Calls of all links that are not answered. Any thread. */
  public int unanswered() {
    return unanswered.get();
  }
}
