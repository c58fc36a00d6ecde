package dunlin.store.remote;

import dunlin.store.remote.Frames.EncodedReply;
import dunlin.store.remote.wire.Wire;
import dunlin.store.serve.LocalRange;
import dunlin.store.serve.RangeReply;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The server side of one caller's stream. */
final class ServiceStream extends ServerCall.Listener<byte[]> {
  /*
   * Owner: frames arrive on the connection's event loop; replies come on any thread and wait in `replies` for the
   * service's writer, the only thread that writes to the call.
   * Bounds: requestsMax and bytesMax of the settings, plus the frame that exceeds them: the next one is requested only
   * when there is room. A request holds its place until its reply is written, so a caller that reads no replies cannot
   * send more.
   * Failure: a bad frame ends the stream with INVALID_ARGUMENT, and no hello in time with DEADLINE_EXCEEDED. Commands
   * already proposed continue, and their results are dropped.
   */
  private static final Logger log = LoggerFactory.getLogger(ServiceStream.class);
  private static final int REPLY_FRAME_BYTES = 64 * 1024;
  private static final int CALLER_LENGTH_MAX = 128;
  private static final long HELLO_NANOS = 10_000_000_000L;

  private final RangeService service;
  private final ServerCall<byte[], byte[]> call;
  private final ConcurrentMap<Long, Outstanding> unanswered = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<Answer> replies = new ConcurrentLinkedQueue<>();
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicBoolean drainAsked = new AtomicBoolean();
  private final AtomicBoolean paused = new AtomicBoolean();

  private final long openedNanos;

  private volatile boolean greeted; // single writer: the event loop
  private volatile int replyFrameBytesMax; // single writer: the event loop
  private volatile boolean gone;
  private boolean closed; // used by the writer only

  private record Answer(EncodedReply reply, int commandBytes) {}

  ServiceStream(RangeService service, ServerCall<byte[], byte[]> call) {
    this.service = service;
    this.call = call;
    openedNanos = service.now();
  }

  void open() {
    call.sendHeaders(new Metadata());
    call.request(1);
  }

  int outstanding() {
    return requests.get();
  }

  boolean busy() {
    return !gone && requests.get() > 0;
  }

  @Override
  public void onMessage(byte[] frame) {
    if (gone) return;
    if (frame.length > service.settings().frameBytesMax()) {
      service.meters().badFrame();
      end(Status.RESOURCE_EXHAUSTED.withDescription("a frame of " + frame.length + " bytes, too many"));
      return;
    }
    try {
      byte kind = Frames.kind(frame);
      if (!greeted) greet(kind, frame);
      else if (kind == Frames.REQUESTS) take(Frames.requests(frame));
      else throw new FrameException("frame of kind " + kind + " from a caller");
    } catch (FrameException e) {
      service.meters().badFrame();
      log.warn("The store service ends a stream of {}: {}", call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR), e.getMessage());
      end(Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
      return;
    }
    if (full()) {
      service.meters().paused();
      paused.set(true);
      if (!full()) resume(); // the last reply may have been written just before
    } else {
      call.request(1);
    }
  }

  @Override
  public void onHalfClose() {
    end(Status.OK);
  }

  @Override
  public void onCancel() {
    forget();
  }

  @Override
  public void onComplete() {
    forget();
  }

  @Override
  public void onReady() {
    drainSoon();
  }

  private void greet(byte kind, byte[] frame) {
    if (kind != Frames.HELLO) throw new FrameException("frame of kind " + kind + " before a hello");
    var hello = Frames.hello(frame);
    if (hello.getVersion() != Frames.VERSION) throw new FrameException("version " + hello.getVersion() + " is not known");
    if (hello.getCaller().length() > CALLER_LENGTH_MAX) throw new FrameException("caller with a long name");
    if (hello.getFrameBytesMax() < REPLY_FRAME_BYTES) throw new FrameException("caller that takes frames of " + hello.getFrameBytesMax());
    if (!Locations.id(hello.getNode()).equals(service.node())) {
      // Another node has this address now: no fault of the caller's.
      end(Status.FAILED_PRECONDITION.withDescription("this is node " + service.node()));
      return;
    }
    greeted = true;
    replyFrameBytesMax = hello.getFrameBytesMax();
    var settings = service.settings();
    byte[] welcome =
        Frames.control(
            Frames.WELCOME,
            Wire.Welcome.newBuilder()
                .setRequestsMax(settings.requestsMax())
                .setBytesMax(settings.bytesMax())
                .setFrameBytesMax(settings.frameBytesMax())
                .build());
    service.write(
        () -> {
          if (!closed) call.sendMessage(welcome);
        });
  }

  private void take(Frames.Requests frame) {
    service.meters().frame(frame.requests().size());
    var range = service.ranges().find(frame.range());
    long now = service.now();
    Outstanding last = null;
    for (var request : frame.requests()) {
      var refusal = frame.ordered() && last != null ? last.refusal : null;
      last = admit(request, now);
      if (refusal != null) last.accept(refusal); // refused like the one before it, which must not be overtaken
      else if (service.closing()) last.accept(new RangeReply.Unavailable("the node is stopping"));
      else if (request.millisLeft() == 0) last.accept(new RangeReply.Expired());
      else if (!last.reserved) last.accept(new RangeReply.Overloaded());
      else if (range.isEmpty()) last.accept(new RangeReply.Unavailable("no such range on this node"));
      else hand(request, range.get(), frame.epoch(), last);
    }
  }

  private Outstanding admit(Frames.Request request, long now) {
    int commandBytes = request.command().remaining();
    var outstanding = new Outstanding(request, now + request.millisLeft() * 1_000_000L, service.reserve(commandBytes));
    requests.incrementAndGet();
    bytes.addAndGet(commandBytes);
    if (unanswered.putIfAbsent(request.number(), outstanding) == null) return outstanding;
    outstanding.accept(new RangeReply.Unavailable("its number is in use"));
    throw new FrameException("request number " + request.number() + " is in use");
  }

  private static void hand(Frames.Request request, LocalRange range, long epoch, Outstanding outstanding) {
    try {
      var known = range.location();
      if (known.epoch() != epoch) {
        outstanding.accept(new RangeReply.WrongEpoch(known));
        return;
      }
      switch (request.kind()) {
        case COMMAND -> range.propose(epoch, request.command(), outstanding);
        case BARRIER -> range.barrier(epoch, outstanding);
      }
    } catch (RuntimeException e) { // a bug of the range: it may have thrown after it proposed
      log.error("A range has thrown an exception instead of replying", e);
      outstanding.accept(new RangeReply.Unknown("the range has failed"));
    }
  }

  private static boolean mayComeAgain(RangeReply reply) {
    return switch (reply) {
      case RangeReply.Done _, RangeReply.Unknown _, RangeReply.Expired _ -> false;
      case RangeReply.NotLeader _, RangeReply.WrongEpoch _, RangeReply.Overloaded _, RangeReply.Unavailable _ -> true;
    };
  }

  private boolean full() {
    return requests.get() >= service.settings().requestsMax() || bytes.get() >= service.settings().bytesMax();
  }

  private void resume() {
    if (paused.compareAndSet(true, false)) call.request(1);
  }

  /**
   * Ends requests past their deadline, so that a range without a quorum does not use up the window; and streams without
   * a hello in time, so that they do not use up the limit.
   */
  void sweep(long now) {
    if (!greeted && !gone && now - openedNanos > HELLO_NANOS) {
      service.meters().streamRefused();
      end(Status.DEADLINE_EXCEEDED.withDescription("no hello in time"));
    }
    for (var outstanding : unanswered.values())
      if (outstanding.deadlineNanos - now <= 0) outstanding.accept(outstanding.fateUnknown("its deadline has passed before it was answered"));
  }

  /** Answers all pending requests and closes; called by the writer only. */
  void finish() {
    for (var outstanding : unanswered.values()) outstanding.accept(outstanding.fateUnknown("the node is stopping"));
    drain(true);
    close(Status.UNAVAILABLE.withDescription("the node is stopping"));
  }

  private void end(Status status) {
    gone = true;
    service.write(() -> close(status));
  }

  private void close(Status status) {
    if (closed) return;
    closed = true;
    call.close(status, new Metadata());
  }

  private void forget() {
    gone = true;
    service.ended(this);
    drainSoon(); // releases what waits
  }

  private void drainSoon() {
    if (drainAsked.compareAndSet(false, true)) service.write(() -> drain(false));
  }

  /** Writes the gathered replies, all of them or as far as the caller reads; called by the writer only. */
  private void drain(boolean all) {
    drainAsked.set(false);
    while ((gone || all || call.isReady()) && !replies.isEmpty()) {
      var frame = new ArrayList<EncodedReply>();
      int frameBytes = Frames.REPLIES_HEADER_BYTES;
      for (Answer next; (next = replies.peek()) != null; ) {
        if (!frame.isEmpty() && frameBytes + next.reply().bytes() > REPLY_FRAME_BYTES) break;
        replies.remove();
        frame.add(next.reply());
        frameBytes += next.reply().bytes();
        requests.decrementAndGet();
        bytes.addAndGet(-next.commandBytes());
      }
      if (!gone && !closed) call.sendMessage(Frames.replies(frame, frameBytes));
    }
    if (paused.get() && !full()) resume();
  }

  /** A pending request; answered once, by the first thread to do so. */
  private final class Outstanding implements Consumer<RangeReply> {
    private final long number;
    private final Frames.Kind kind;
    private final int commandBytes;
    private final long deadlineNanos;
    private final boolean reserved;
    private final AtomicBoolean answered = new AtomicBoolean();
    private volatile @Nullable RangeReply refusal; // single writer: the thread that answers

    Outstanding(Frames.Request request, long deadlineNanos, boolean reserved) {
      number = request.number();
      kind = request.kind();
      commandBytes = request.command().remaining();
      this.deadlineNanos = deadlineNanos;
      this.reserved = reserved;
    }

    RangeReply fateUnknown(String reason) {
      return kind == Frames.Kind.BARRIER ? new RangeReply.Expired() : new RangeReply.Unknown(reason);
    }

    private EncodedReply encoded(RangeReply reply) {
      var encoded = EncodedReply.of(number, reply);
      if (Frames.REPLIES_HEADER_BYTES + encoded.bytes() <= replyFrameBytesMax) return encoded;
      return EncodedReply.of(number, new RangeReply.Unknown("the result has " + encoded.body().length + " bytes, too many for the caller"));
    }

    @Override
    public void accept(RangeReply reply) {
      if (!answered.compareAndSet(false, true)) return; // its deadline has passed
      if (mayComeAgain(reply)) refusal = reply;
      if (reserved) service.release(commandBytes);
      service.meters().answered(reply);
      unanswered.remove(number, this);
      replies.add(new Answer(encoded(reply), commandBytes));
      drainSoon();
    }
  }
}
