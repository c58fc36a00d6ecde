package dunlin.broker;

import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.MalformedPacketException;
import dunlin.broker.codec.MessageForm;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.ServersTopics;
import dunlin.broker.session.RetainLine;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.TierAnswers;
import java.time.InstantSource;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/** Publishes messages of the application that embeds the node, without a connection. */
public final class ApplicationPublisher {
  /*
   * A message takes the same path as one from a client: through the lane of a loop, and to the retained messages. All
   * messages of a topic use the same loop, so those of one topic and QoS keep the order in which publish() was called.
   *
   * Owner: any thread publishes; a message in flight belongs to its loop. Nothing blocks.
   * Bounds: MESSAGES_MAX messages and BYTES_MAX bytes in flight; more are refused at once. They take credit of their
   * lanes, and so can hold back clients, but do not wait for credit themselves.
   * Failure: an answer has the reason code that PUBACK would have. After the node is closed, loops no longer answer
   * messages in flight; close() fails them.
   */
  /** The client identifier of the application; no client can have it. */
  private static final String APPLICATION = "";

  private static final byte[] NO_PROPERTIES = {};

  static final int MESSAGES_MAX = 4_096;
  static final long BYTES_MAX = 16L * 1_024 * 1_024;

  private final IntFunction<Loop> loops;
  private final DecoderLimits limits;
  private final InstantSource clock;
  private final AtomicInteger messages = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final Set<Underway> waiting = ConcurrentHashMap.newKeySet();

  /** In a cluster, one for each loop that has published; else none. */
  private final Map<Loop, RetainLine> lines = new ConcurrentHashMap<>();

  private volatile boolean closed;

  /** A message in flight. */
  private static final class Underway {
    final CompletableFuture<ReasonCode> answer = new CompletableFuture<>();
  }

  /**
   * @param loops chooses the event loop of a hash, once the frontend is open
   * @param limits what packets may hold, on listeners that do not say otherwise
   */
  ApplicationPublisher(IntFunction<Loop> loops, DecoderLimits limits, InstantSource clock) {
    this.loops = loops;
    this.limits = limits;
    this.clock = clock;
  }

  /** Number of messages in flight. */
  int messages() {
    return messages.get();
  }

  /**
   * Publishes one message.
   *
   * @return with QoS 1 and 2 the reason code of PUBACK, at the time when that would be sent; with QoS 0 success, once
   *     the message was handed on. {@link ReasonCode#SERVER_BUSY} at once if too much is in flight,
   *     {@link ReasonCode#SERVER_SHUTTING_DOWN} if the node is closed before the answer
   */
  public CompletableFuture<ReasonCode> publish(Publication message) {
    int size = message.body().length;
    boolean fits = messages.incrementAndGet() <= MESSAGES_MAX;
    fits &= bytes.addAndGet(size) <= BYTES_MAX;
    var underway = new Underway();
    var answer = underway.answer;
    var _ =
        answer.whenComplete(
            (_, _) -> {
              messages.decrementAndGet();
              bytes.addAndGet(-size);
              waiting.remove(underway);
            });
    if (!fits) {
      answer.complete(ReasonCode.SERVER_BUSY);
      return answer;
    }
    waiting.add(underway);
    var loop = loopOf(message);
    loop.post(() -> hand(loop, message, answer));
    if (closed) answer.complete(ReasonCode.SERVER_SHUTTING_DOWN); // close() may have run before this message was added
    return answer;
  }

  /**
   * Creates a message of the application.
   *
   * @throws IllegalArgumentException if it violates a rule or a limit that applies to clients' messages
   */
  public Publication message(String tenant, String topic, QoS qos, boolean retain, byte[] payload) {
    return message(new Publisher(tenant, APPLICATION), topic, qos, retain, clock.millis(), NO_PROPERTIES, payload);
  }

  /**
   * Creates a message as a client has published it.
   *
   * @param acceptedAtMillis from when its Message Expiry Interval counts
   * @param properties as in a PUBLISH packet of MQTT 5, without their length and without a Topic Alias
   * @throws IllegalArgumentException if it violates a rule or a limit that applies to clients' messages
   */
  public Publication message(Publisher publisher, String topic, QoS qos, boolean retain, long acceptedAtMillis, byte[] properties, byte[] payload) {
    Publication publication;
    try {
      publication = MessageForm.message(publisher, topic, qos, retain, acceptedAtMillis, properties, payload, limits);
    } catch (MalformedPacketException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    require(!ServersTopics.has(publication), "only the server publishes to $SYS");
    int size = publication.body().length;
    require(size <= limits.packets().packetMax(), "topic, properties and payload have %d bytes, the limit is %d".formatted(size, limits.packets().packetMax()));
    require(qos.min(limits.features().maximumQoS()) == qos, "dunlin.mqtt.maximum-qos is %d".formatted(limits.features().maximumQoS().code()));
    require(!retain || limits.features().retain(), "retained messages are switched off (dunlin.mqtt.retain-available)");
    return publication;
  }

  private static void require(boolean good, String otherwise) {
    if (!good) throw new IllegalArgumentException(otherwise);
  }

  /** Hands a message on; on the loop's thread. */
  private void hand(Loop loop, Publication message, CompletableFuture<ReasonCode> answer) {
    loop.counts().publishes().received(message, null);
    var line = loop.tiers().alone() ? null : lines.computeIfAbsent(loop, each -> new RetainLine(each, null, null, () -> null, () -> {}));
    if (message.qos() == QoS.AT_MOST_ONCE) {
      if (line != null) {
        line.passUnacknowledged(message, () -> answer.complete(ReasonCode.SUCCESS));
        return;
      }
      if (message.retain()) loop.retain(message, null, _ -> {});
      loop.handOn(message, null, null, null);
      loop.counts().publishes().delivered();
      answer.complete(ReasonCode.SUCCESS);
      return;
    }
    int size = message.body().length;
    Publication followed = loop.counts().publishes().follows(message, null) ? message : null;
    loop.counts().publishes().waiting(1);
    loop.window().take(size);
    var pending =
        new Pending(
            reason ->
                loop.post(
                    () -> {
                      loop.window().give(1, size);
                      loop.counts().publishAnswered(reason, followed, null);
                      answer.complete(TierAnswers.forPublisher(reason));
                    }));
    if (line != null) {
      line.pass(message, pending);
      return;
    }
    if (message.retain()) {
      pending.expect();
      loop.retain(message, null, pending::answer);
    }
    loop.handOn(message, null, null, pending);
    pending.answer(ReasonCode.SUCCESS);
  }

  private Loop loopOf(Publication message) {
    int hash = 0;
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) hash = 31 * hash + body[i];
    return loops.apply(hash);
  }

  /** Answers all messages in flight, because no loop answers them any more. */
  void close() {
    closed = true;
    waiting.forEach(each -> each.answer.complete(ReasonCode.SERVER_SHUTTING_DOWN));
  }

  /** Answers with the reason code that PUBACK would have. */
  private static final class Pending extends Acknowledgement {
    private final Consumer<ReasonCode> told;

    Pending(Consumer<ReasonCode> told) {
      this.told = told;
    }

    @Override
    protected void complete(ReasonCode reason) {
      told.accept(reason == ReasonCode.SUCCESS && !matched() ? ReasonCode.NO_MATCHING_SUBSCRIBERS : reason);
    }
  }
}
