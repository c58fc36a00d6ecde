package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.Answer;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.TierAnswers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code $oshare}: each publisher's messages go to one member, in order. */
class OrderedGroupTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int LOOPS = 2;

  /** Number of messages that a member takes without acknowledging: one in flight, and a queue. */
  private static final int ROOM = 1 + OpenFrontend.QUEUE_MESSAGES;

  /** Bytes at the beginning of a payload that identify it. */
  private static final int PAYLOAD = 12;

  private final ByteBuf received = Unpooled.buffer();
  private final OpenFrontend open = new OpenFrontend(LOOPS);
  private final FilterHandle filter = OpenFrontend.handle("$oshare/g/t", LOOPS);
  private final ShareGroup group = Objects.requireNonNull(filter.group());

  @AfterEach
  void closes() {
    received.release();
    open.close();
  }

  @Test
  void aMemberThatDoesNotAcknowledgeDelaysOnlyItsOwnPublishers() throws Exception {
    Subscriber silent = joins(0, "silent");
    Subscriber other = joins(1, "other");
    List<Answer> stuck = new ArrayList<>();
    for (int i = 0; i < ROOM + 3; i++) stuck.add(publish(publisherOf(silent), 0, i));
    assertThat(unanswered(stuck)).isEqualTo(3);

    for (int i = 0; i < ROOM; i++) {
      assertThat(publish(publisherOf(other), 0, i).reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
    }
    assertThat(unanswered(stuck)).isEqualTo(3);
    for (Answer answer : stuck.subList(ROOM, stuck.size())) {
      assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(TierAnswers.NO_MEMBER);
    }
  }

  /** The waiting message is large; the next one would have room. */
  @ParameterizedTest(name = "published on loop {0}, the member on loop {1}")
  @CsvSource({"0, 0", "0, 1"})
  void aLaterMessageOfAPublisherDoesNotOvertakeOneThatWaits(int loop, int memberLoop) throws Exception {
    Subscriber member = joins(memberLoop, "member");
    List<Answer> answers = new ArrayList<>();
    answers.add(publish("publisher", loop, 0));
    answers.add(publish("publisher", loop, 1));
    answers.add(publish("publisher", loop, 2, 65_530));
    answers.add(publish("publisher", loop, 3));
    assertThat(unanswered(answers)).isEqualTo(2);
    assertThat(publish("bystander", loop, 0).reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);

    await()
        .atMost(SOON)
        .until(
            () -> {
              open.on(memberLoop, () -> acknowledge(member));
              return unanswered(answers) == 0;
            });
    for (Answer answer : answers) assertThat(answer.reason.join()).isEqualTo(ReasonCode.SUCCESS);
    await().atMost(SOON).until(() -> open.on(memberLoop, () -> acknowledge(member) && acknowledged.size() == 5));
    assertThat(acknowledged).filteredOn(text -> text.startsWith("publisher")).isSorted();
  }

  /** Payloads that the client has acknowledged, in the order of arrival. */
  private final List<String> acknowledged = new ArrayList<>();

  /** Acknowledges the messages that the client has received; on its loop. */
  private boolean acknowledge(Subscriber member) {
    var channel = (EmbeddedChannel) OpenFrontend.sessionOf(member).connection().context().channel();
    channel.runPendingTasks();
    for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
      received.writeBytes(out);
      out.release();
    }
    while (received.isReadable()) {
      received.skipBytes(1);
      int length = 0;
      int octet;
      int shift = 0;
      do {
        octet = received.readByte();
        length |= (octet & 0x7F) << shift;
        shift += 7;
      } while (octet < 0);
      ByteBuf packet = received.readSlice(length);
      packet.skipBytes(3); // topic name
      int packetId = packet.readUnsignedShort();
      packet.skipBytes(1); // no properties
      acknowledged.add(packet.readCharSequence(Math.min(PAYLOAD, packet.readableBytes()), StandardCharsets.UTF_8).toString());
      OpenFrontend.sessionOf(member).outbound().puback(packetId);
    }
    return true;
  }

  private Subscriber joins(int loop, String clientId) {
    Subscriber member = open.subscriber(loop, filter, clientId);
    group.add(member);
    return member;
  }

  private String publisherOf(Subscriber member) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "publisher" + i)
        .filter(name -> group.pickFor(new Publisher(Publisher.DEFAULT_TENANT, name)) == member)
        .findFirst()
        .orElseThrow();
  }

  private Answer publish(String publisher, int loop, int number) {
    return publish(publisher, loop, number, PAYLOAD);
  }

  private Answer publish(String publisher, int loop, int number, int size) {
    byte[] payload = Arrays.copyOf((publisher + number).getBytes(StandardCharsets.UTF_8), Math.max(PAYLOAD, size));
    var by = new Publisher(Publisher.DEFAULT_TENANT, publisher);
    var message = Publication.of(by, "t", QoS.AT_LEAST_ONCE, false, System.currentTimeMillis(), payload);
    var answer = new Answer();
    open.on(
        loop,
        () -> {
          open.fanout().on(loop).groups().dispatch(message, filter, null, answer);
          return true;
        });
    // Wait until passed messages have arrived.
    for (int i = 0; i < 3; i++) for (int each = 0; each < LOOPS; each++) open.on(each, () -> true);
    return answer;
  }

  private static long unanswered(List<Answer> answers) {
    return answers.stream().filter(each -> !each.reason.isDone()).count();
  }
}
