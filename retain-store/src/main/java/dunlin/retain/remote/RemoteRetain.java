package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The retain tier of another process, as a frontend uses it. Answers come on the links' thread; those that fail at once have failed when the call returns. */
public final class RemoteRetain implements RetainClient, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds. A message that is set holds credit of its publisher's lane until it is answered, so bounds that are larger than what all lanes have credit
   *   for are never reached by it: the lanes stop reading first. A page puts aside what it asks for and one message more, and waits in a line for
   *   that. What is set behind it meanwhile may be in it.
   * Full: set() answers SERVER_UNAVAILABLE, all others fail. Both are counted.
   * Failure: with a lost link, set() answers SERVER_UNAVAILABLE for what was on its way, which may be kept or not: the publisher sends it again. All others fail with a
   *   StoreException. Later calls wait for the next link (CallLinks).
   */
  private static final Logger LOG = LoggerFactory.getLogger(RemoteRetain.class);

  private final CallLinks links;
  private final int messageMax;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param frontend its node id
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param messageMax bytes of the largest message there can be, from 1
   */
  public RemoteRetain(
      String frontend, long incarnation, CallLinks.Network network, Executor owner, CallBounds bounds, int messageMax, MeterRegistry registry) {
    this(new CallLinks(RetainCallCodec.PROTOCOL, frontend, incarnation, network, owner, bounds), messageMax, registry);
  }

  RemoteRetain(CallLinks links, int messageMax, MeterRegistry registry) {
    this.links = links;
    this.messageMax = messageMax;
    Gauge.builder("dunlin.retain.calls", links, CallLinks::calls)
        .description("Calls to the retain tier of another process that are not answered")
        .register(registry);
    Gauge.builder("dunlin.retain.calls.size", links, CallLinks::bytes)
        .description("Bytes of the calls to the retain tier of another process that are not answered")
        .baseUnit("bytes")
        .register(registry);
    FunctionCounter.builder("dunlin.retain.calls.refused", links, CallLinks::refused)
        .description("Calls to the retain tier of another process that failed since too many were not answered")
        .register(registry);
    FunctionCounter.builder("dunlin.retain.links.lost", links, CallLinks::lost)
        .description("Links to the retain tier of another process that were lost")
        .register(registry);
  }

  /** Begins the first link. Completes on the links' thread when the tier has taken it. Any thread, once. */
  public CompletableFuture<Void> begin() {
    return links.begin();
  }

  /** Whether the tier has taken the present link. Any thread. */
  public boolean isReached() {
    return links.isReached();
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    var _ =
        links
            .call(RetainCallCodec.encode(new RetainCall.Set(message)), 0, RetainCallCodec::decodeReason)
            .whenComplete((reason, failure) -> answer.accept(failure == null ? reason : reasonOf(failure)));
  }

  private static ReasonCode reasonOf(Throwable failure) {
    LOG.debug("It is not known whether a message to be retained was stored: {}", failure.getMessage());
    return ReasonCode.SERVER_UNAVAILABLE;
  }

  @Override
  public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    var call = RetainCallCodec.encode(new RetainCall.Find(tenant, filter, after, messagesMax, bytesMax));
    return links.call(call, (long) bytesMax + messageMax, RetainCallCodec::decodePage);
  }

  @Override
  public CompletableFuture<Long> count() {
    return links.call(RetainCallCodec.encode(new RetainCall.Count()), 0, RetainCallCodec::decodeCount);
  }

  /** Ends the link; what is not answered fails. */
  @Override
  public void close() {
    links.close();
  }
}
