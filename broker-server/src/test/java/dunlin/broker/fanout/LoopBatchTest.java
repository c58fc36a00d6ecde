package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.Answer;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionView;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LoopBatchTest {
  private final OpenFrontend open = new OpenFrontend(2);

  @AfterAll
  void closes() {
    open.close();
  }

  @Test
  void messagesOfARoundArriveOnTheOtherLoopInOrderAndTheirCreditIsReturned() throws Exception {
    FilterHandle filter = OpenFrontend.handle("t", 2);
    LiveSession session = open.session(1, "subscriber");
    open.on(
        1,
        () -> {
          filter.add(1, new Subscriber(session, filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
          return true;
        });
    List<Answer> answers = new ArrayList<>();
    int messages = 40;
    open.on(
        0,
        () -> {
          for (int i = 0; i < messages; i++) {
            Publication message = OpenFrontend.message("message " + i);
            Answer answer = new Answer();
            answers.add(answer);
            open.loop(0).window().take(message.body().length);
            open.loop(0).batchTo(open.loop(1)).add(message, filter, answer);
          }
          assertThat(open.loop(0).window().messages()).isEqualTo(messages);
          return true;
        });

    for (Answer answer : answers) assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
    await().until(() -> open.on(0, () -> open.loop(0).window().messages()) == 0);
    // One is in flight, the queue took its bound, and the rest is counted.
    var copies = open.frontend().copies();
    assertThat(copies.received()).isEqualTo(messages);
    assertThat(copies.dropped()).isEqualTo(messages - 1 - OpenFrontend.QUEUE_MESSAGES);
    assertThat(open.on(1, () -> SessionView.queued(session))).isEqualTo(OpenFrontend.QUEUE_MESSAGES);
  }

  @Test
  void aMessageThatCannotBeDeliveredDoesNotAffectOthers() throws Exception {
    FilterHandle filter = OpenFrontend.handle("f", 2);
    LiveSession session = open.session(1, "beside a fault");
    open.on(
        1,
        () -> {
          filter.add(1, new Subscriber(session, filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
          return true;
        });
    List<Object> targets = List.of(filter, "nobody knows what this is", filter);
    List<Answer> answers = new ArrayList<>();

    open.on(
        0,
        () -> {
          for (Object target : targets) {
            Publication message = OpenFrontend.message("m");
            Answer answer = new Answer();
            answers.add(answer);
            open.loop(0).window().take(message.body().length);
            open.loop(0).batchTo(open.loop(1)).add(message, target, answer);
          }
          return true;
        });

    List<ReasonCode> reasons = new ArrayList<>();
    for (Answer answer : answers) reasons.add(answer.reason.get(2, TimeUnit.MINUTES));
    assertThat(reasons).containsExactly(ReasonCode.SUCCESS, ReasonCode.UNSPECIFIED_ERROR, ReasonCode.SUCCESS);
    await().until(() -> open.on(0, () -> open.loop(0).window().messages()) == 0);
    assertThat(open.on(1, () -> SessionView.queued(session))).isEqualTo(1);
  }

  @Test
  void aMemberThatHasLeftRefusesAndTheMessageIsStillAnswered() throws Exception {
    FilterHandle filter = OpenFrontend.handle("$share/g/t", 2);
    LiveSession session = open.session(1, "member");
    Subscriber member = new Subscriber(session, filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE));
    open.on(
        1,
        () -> {
          session.end();
          return true;
        });
    Answer answer = new Answer();
    open.on(
        0,
        () -> {
          Publication message = OpenFrontend.message("m");
          open.loop(0).window().take(message.body().length);
          var copy = new GroupCopy(message, filter, answer, open.loop(0), null);
          copy.member = member;
          open.loop(0).batchTo(open.loop(1)).addUncredited(message, copy);
          return true;
        });

    assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
    await().until(() -> open.on(0, () -> open.loop(0).window().messages()) == 0);
  }
}
