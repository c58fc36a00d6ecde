package dunlin.transport.call;

import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls to a tier of another process, over one link after another. Calls of one thread are made there in their order, each once or never, and each
 * has one answer or one failure. A failure says that the call was not made, or that this is unknown.
 */
public final class CallLinks implements AutoCloseable {
  /*
   * Owner: any thread calls. The links' thread begins and replaces them, and completes all futures but those that fail at once.
   * Bounds: CallBounds, over all links together; further calls fail at once, and are counted. CALL_BYTES_MAX for one call. One link at a time; the next
   *   begins at once when the one before has lasted, and AGAIN_MILLIS later when that was lost as soon as it was taken, or before.
   * Failure: what a lost link takes along fails, as unknown when it may have been made. It is not called again: the caller knows whether that does
   *   harm. Later calls wait until the tier has taken the next link, as they do while a pipe is replaced, and fail when that link is lost before. So a tier that
   *   is led elsewhere within that time has callers that wait, not some that fail.
   *
   * Order over a lost link: the tier ends a caller's link when the next one begins, and takes no earlier one any more (CallReceiver). So what is on its way
   * there is made before all that comes by the next link, or never.
   *
   * A caller that may not go on with what it has called gives the link up with renew(), and names calls that it may not want any more when it is their turn. What of the earlier link is on its way then
   * is made before the tier takes the next one, or never; a tier that does not hear of it ends its links in silence (Link.endInSilence).
   */
  private static final Logger LOG = LoggerFactory.getLogger(CallLinks.class);
  private static final long AGAIN_MILLIS = 500;
  private static final int CALL_BYTES_MAX = 16 << 20;

  /** Opens the way to the tier. */
  @FunctionalInterface
  public interface Network {
    /** What dials one link, with an opening that says who the caller is. */
    SendingStream.Dialler to(CallOpening opening);
  }

  /** Reads the answer to a call. */
  @FunctionalInterface
  public interface AnswerReader<T> {
    @Nullable T read(byte[] answer) throws MalformedFrameException;
  }

  private final CallProtocol protocol;
  private final String caller;
  private final long incarnation;
  private final Network network;
  private final Executor owner;
  private final NextLink nextLink;
  private final CallBounds bounds;
  private final CallLoad load;
  private final LongAdder refused = new LongAdder();
  private final AtomicLong lost = new AtomicLong();
  private final CompletableFuture<Void> taken = new CompletableFuture<>();

  /** The link that calls go to, which may be yet to be dialled; null before the first one. Written by begin(), and then by the links' thread. */
  private volatile @Nullable CallStream present;

  /** Completes when the tier has taken a link that was begun since the last renew(); null without one. The links' thread. */
  private @Nullable CompletableFuture<Void> renewed;

  private volatile boolean reached; // written by the links' thread
  private volatile boolean closed;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param caller as the tier is to know it; no two callers have one name
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public CallLinks(CallProtocol protocol, String caller, long incarnation, Network network, Executor owner, CallBounds bounds) {
    this(protocol, caller, incarnation, network, owner, CompletableFuture.delayedExecutor(AGAIN_MILLIS, TimeUnit.MILLISECONDS, owner), bounds);
  }

  /**
   * With a pause of the caller's between links.
   *
   * @param later runs tasks on the links' thread when that is over
   */
  public CallLinks(CallProtocol protocol, String caller, long incarnation, Network network, Executor owner, Executor later, CallBounds bounds) {
    this.protocol = protocol;
    this.caller = caller;
    this.incarnation = incarnation;
    this.network = network;
    this.owner = owner;
    this.bounds = bounds;
    nextLink = new NextLink(owner, later);
    load = new CallLoad(bounds);
  }

  /** Begins the first link, for which all later calls wait. Completes on the links' thread when the tier has taken one for the first time. Any thread, once. */
  public CompletableFuture<Void> begin() {
    var first = next();
    owner.execute(() -> dial(first));
    return taken;
  }

  private CallStream next() {
    var stream = new CallStream(protocol, owner, bounds.answersMax(), load, new Present());
    present = stream;
    return stream;
  }

  private void dial(CallStream stream) {
    if (closed || present != stream) return;
    var opening = new CallOpening(protocol.name(), caller, incarnation, nextLink.begins());
    try {
      stream.begin(network.to(opening));
    } catch (RuntimeException e) {
      LOG.error("A link of {} to the {} could not be begun", caller, protocol.tier(), e);
      stream.lost("it could not be begun");
    }
  }

  private final class Present implements CallStream.Listener {
    @Override
    public void taken() {
      reached = true;
      taken.complete(null);
      nextLink.isTaken();
      isRenewed();
    }

    @Override
    public void lost(String reason) {
      var next = next();
      reached = false;
      lost.incrementAndGet();
      LOG.warn("The link of {} to the {} is lost: {}", caller, protocol.tier(), reason);
      nextLink.follows(() -> dial(next));
    }
  }

  private void isRenewed() {
    var asked = renewed;
    renewed = null;
    if (asked != null) asked.complete(null);
  }

  /**
   * Gives the present link up, with all that was called and is not answered: it fails, as unknown where it was sent. The next link begins as after a loss.
   *
   * @return completes when the tier has taken the next link, so that nothing is made any more of what was called before; or when this is closed, or was not begun
   */
  public CompletableFuture<Void> renew(String reason) {
    var done = new CompletableFuture<Void>();
    owner.execute(
        () -> {
          var last = present;
          if (renewed == null) renewed = new CompletableFuture<>();
          var _ = renewed.thenRun(() -> done.complete(null));
          if (last == null || closed) isRenewed();
          else last.lose(reason);
        });
    return done;
  }

  /**
   * Makes a call. Never blocks. Any thread.
   *
   * @param answerBytes what the answer may have when that is much, else 0: such a call waits in a line until there is room for its answer, and what is
   *     called behind it may take effect before it
   * @return completes on the links' thread; when it fails at once, it has failed when it is returned
   */
  public <T> CompletableFuture<T> call(byte[] call, long answerBytes, AnswerReader<T> reader) {
    return call(call, answerBytes, reader, () -> true);
  }

  /**
   * Does the same, unless the call is not wanted any more when it is its turn.
   *
   * @param wanted is asked on the links' thread just before the call is handed to the link; when it is not wanted, it fails and is not made
   */
  public <T> CompletableFuture<T> call(byte[] call, long answerBytes, AnswerReader<T> reader, BooleanSupplier wanted) {
    var to = closed ? null : present;
    if (to == null) return failed("there is no link to the " + protocol.tier());
    if (call.length > CALL_BYTES_MAX) return refuse("a call of " + call.length + " bytes, the most are " + CALL_BYTES_MAX);
    if (!load.take(CallBounds.sizeOf(call))) return refuse(load + " wait for the " + protocol.tier());
    return to.call(call, answerBytes, reader, wanted);
  }

  private <T> CompletableFuture<T> refuse(String why) {
    refused.increment();
    return failed(why);
  }

  private <T> CompletableFuture<T> failed(String why) {
    return CompletableFuture.failedFuture(protocol.notMade().apply(why));
  }

  /** Ends the link; what is not answered fails. Any thread. */
  @Override
  public void close() {
    closed = true;
    owner.execute(
        () -> {
          var last = present;
          if (last != null) last.close();
          isRenewed();
        });
  }

  /** Whether the tier has taken the present link. Any thread. */
  public boolean isReached() {
    return reached;
  }

  /** Calls without an answer. Any thread. */
  public int calls() {
    return load.calls();
  }

  /** Their bytes, and 64 for each. Any thread. */
  public long bytes() {
    return load.bytes();
  }

  /** Calls that failed since too many waited, or since they were too large. Any thread. */
  public long refused() {
    return refused.sum();
  }

  /** Links that were lost. Any thread. */
  public long lost() {
    return lost.get();
  }
}
