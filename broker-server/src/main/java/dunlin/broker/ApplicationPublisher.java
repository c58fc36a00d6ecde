package dunlin.broker;

import dunlin.broker.codec.MalformedPacketException;
import dunlin.broker.codec.TopicNames;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.ServersTopics;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** Publishes for the application that the node is part of, without a connection. */
public final class ApplicationPublisher {
  /*
   * A message goes the way of one that a client has sent: through the lane of a loop, and to the retained messages. All messages of a topic take
   * the same loop, so those of one topic and QoS keep the order in which publish() was called.
   *
   * Owner: any thread publishes; what is on its way belongs to its loop. Nothing blocks.
   * Bounds: MESSAGES_MAX messages and BYTES_MAX bytes on their way; more are refused at once. They count for the credit of their lanes, which
   *   then hold back clients, and wait for none themselves.
   * Failure: answers say what a PUBACK would say. What is on its way when the node is closed is not answered by a loop any more; close() fails it.
   */
  /** No client can have this identifier. */
  private static final String APPLICATION = "";

  static final int MESSAGES_MAX = 4_096;
  static final long BYTES_MAX = 16L * 1_024 * 1_024;

  private final Frontend frontend;
  private final AtomicInteger messages = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final Set<Underway> waiting = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** A message on its way. */
  private static final class Underway {
    final CompletableFuture<ReasonCode> answer = new CompletableFuture<>();
  }

  ApplicationPublisher(Frontend frontend) {
    this.frontend = frontend;
  }

  /** Messages that are on their way. */
  int messages() {
    return messages.get();
  }

  /**
   * Publishes one message.
   *
   * @return with QoS 1 and 2 what PUBACK would say, when that would be sent; with QoS 0 success, when the message has been handed on. {@link
   *     ReasonCode#SERVER_BUSY} at once when too much is on its way, {@link ReasonCode#SERVER_SHUTTING_DOWN} when the node is closed before
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
    if (closed) answer.complete(ReasonCode.SERVER_SHUTTING_DOWN); // close() may have passed by before it was there
    return answer;
  }

  /**
   * A message of the application, which no client has sent.
   *
   * @throws IllegalArgumentException when it breaks a rule or a limit that a client's message would break
   */
  public Publication message(String tenant, String topic, QoS qos, boolean retain, byte[] payload) {
    var limits = frontend.decoderLimits();
    try {
      TopicNames.check(topic, limits);
    } catch (MalformedPacketException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    var publication = Publication.of(new Publisher(tenant, APPLICATION), topic, qos, retain, frontend.clock().millis(), payload);
    require(!ServersTopics.has(publication), "only the server publishes to $SYS");
    int size = publication.body().length;
    require(size <= limits.packets().packetMax(), "topic and payload have %d bytes, the limit is %d".formatted(size, limits.packets().packetMax()));
    require(qos.min(limits.features().maximumQoS()) == qos, "dunlin.mqtt.maximum-qos is %d".formatted(limits.features().maximumQoS().code()));
    require(!retain || limits.features().retain(), "retained messages are off (dunlin.mqtt.retain-available)");
    return publication;
  }

  private static void require(boolean good, String otherwise) {
    if (!good) throw new IllegalArgumentException(otherwise);
  }

  /** On the loop's thread. */
  private void hand(Loop loop, Publication message, CompletableFuture<ReasonCode> answer) {
    loop.counts().publishes().received();
    if (message.qos() == QoS.AT_MOST_ONCE) {
      if (message.retain()) frontend.retain().set(message, _ -> {});
      loop.lane().append(message, null, null);
      loop.counts().publishes().delivered();
      answer.complete(ReasonCode.SUCCESS);
      return;
    }
    int size = message.body().length;
    loop.counts().publishes().waiting(1);
    loop.window().take(size);
    var pending =
        new Pending(
            reason ->
                loop.post(
                    () -> {
                      loop.window().give(1, size);
                      loop.counts().publishAnswered(reason);
                      answer.complete(reason);
                    }));
    if (message.retain()) {
      pending.expect();
      frontend.retain().set(message, pending::answer);
    }
    loop.lane().append(message, null, pending);
    pending.answer(ReasonCode.SUCCESS);
  }

  private Loop loopOf(Publication message) {
    int hash = 0;
    byte[] body = message.body();
    for (int i = 0; i < message.topicLength(); i++) hash = 31 * hash + body[i];
    return frontend.loop(Math.floorMod(hash, frontend.loopCount()));
  }

  /** Answers what no loop answers any more. */
  void close() {
    closed = true;
    waiting.forEach(each -> each.answer.complete(ReasonCode.SERVER_SHUTTING_DOWN));
  }

  /** Tells what PUBACK would say. */
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
