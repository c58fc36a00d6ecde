package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.Answer;
import dunlin.broker.session.SessionView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.TierAnswers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Members of a group that do not acknowledge, and messages that are larger than the room in their queues. */
class GroupRoomTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  /** Most of the 65,536 bytes of a queue. */
  private static final int MOST_OF_A_QUEUE = 40_000;

  private static final int LOOPS = 2;

  private final OpenFrontend open = new OpenFrontend(LOOPS);

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void aMessageLargerThanTheRoomOfAllMembersWaitsOnceAndIsRefused() throws Exception {
    FilterHandle filter = OpenFrontend.handle("$share/g/t", LOOPS);
    for (int i = 0; i < 4; i++) silentMember(filter, i % LOOPS, "member " + i);

    List<Answer> answers = new ArrayList<>();
    for (int i = 0; i < 4; i++) answers.add(publish(filter, "publisher", i % LOOPS, MOST_OF_A_QUEUE));
    assertThat(waiting()).isEqualTo(4);
    assertThat(creditOut()).isEqualTo(4);
    await().atMost(SOON).until(() -> oldestWaitSeconds() > 0.2);

    for (Answer answer : answers) assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(TierAnswers.NO_MEMBER);
    await().atMost(SOON).until(() -> creditOut() == 0);
    assertThat(waiting()).isZero();
    assertThat(open.frontend().copies().dropped()).isEqualTo(4);
    await().atMost(SOON).until(() -> oldestWaitSeconds() == 0);
  }

  @Test
  void aSmallMessagePassesALargeOneThatWaits() throws Exception {
    FilterHandle filter = OpenFrontend.handle("$share/g/t", LOOPS);
    for (int i = 0; i < 2; i++) silentMember(filter, i, "member " + i);

    Answer large = publish(filter, "publisher", 0, MOST_OF_A_QUEUE);
    Answer small = publish(filter, "publisher", 0, 100);

    assertThat(small.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(large.reason.isDone()).isFalse();
  }

  @Test
  void anEmptyQueueTakesAMessageOfAnySize() throws Exception {
    FilterHandle filter = OpenFrontend.handle("$share/g/t", LOOPS);
    Subscriber member = open.subscriber(1, filter, "member");
    Objects.requireNonNull(filter.group()).add(member);

    Answer inFlight = publish(filter, "publisher", 0, 200_000);
    Answer queued = publish(filter, "publisher", 0, 200_000);

    assertThat(inFlight.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(queued.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
  }

  /** A member whose client has one unacknowledged message, with a nearly full queue behind it. */
  private Subscriber silentMember(FilterHandle filter, int loop, String clientId) {
    Subscriber member = open.subscriber(loop, filter, clientId);
    open.on(
        loop,
        () -> {
          for (int i = 0; i < 2; i++) member.session.offer(message("other", MOST_OF_A_QUEUE), member.options(), member.identifiers());
          SessionView.updateLoad(OpenFrontend.sessionOf(member));
          return true;
        });
    Objects.requireNonNull(filter.group()).add(member);
    return member;
  }

  private Answer publish(FilterHandle filter, String publisher, int loop, int bytes) {
    var answer = new Answer();
    open.on(
        loop,
        () -> {
          open.fanout().on(loop).groups().dispatch(message(publisher, bytes), filter, null, answer);
          return true;
        });
    return answer;
  }

  private static Publication message(String publisher, int bytes) {
    var by = new Publisher(Publisher.DEFAULT_TENANT, publisher);
    return Publication.of(by, "t", QoS.AT_LEAST_ONCE, false, System.currentTimeMillis(), new byte[bytes]);
  }

  private int creditOut() {
    return open.on(0, () -> open.loop(0).window().messages()) + open.on(1, () -> open.loop(1).window().messages());
  }

  private double waiting() {
    return open.meters.get("dunlin.group.waiting").gauge().value();
  }

  private double oldestWaitSeconds() {
    return open.meters.get("dunlin.group.oldest-wait").gauge().value();
  }
}
