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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A session that fails on every message because of a bug, among others that work. */
class FaultySubscriberTest {
  private final OpenFrontend open = new OpenFrontend(2);
  private final FilterHandle one = OpenFrontend.handle("t", 2);
  private final FilterHandle two = OpenFrontend.handle("+", 2);
  private final List<LiveSession> well = new ArrayList<>();

  @AfterEach
  void closes() {
    open.close();
  }

  private void subscribe(LiveSession session, FilterHandle... filters) {
    open.on(
        0,
        () -> {
          for (FilterHandle filter : filters) filter.add(0, new Subscriber(session, filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
          return true;
        });
  }

  /** Subscribes sessions to both filters, a faulty one among working ones. With three of them no message is wide. */
  private void subscribers(int count) {
    for (int i = 0; i < count; i++) {
      if (i == count / 2) subscribe(open.faulty(0, "faulty"), one, two);
      LiveSession session = open.session(0, "well" + i);
      well.add(session);
      subscribe(session, one, two);
    }
  }

  private Answer publish(FilterHandle... filters) {
    Publication message = OpenFrontend.message("m");
    Answer answer = new Answer();
    open.on(
        1,
        () -> {
          open.loop(1).window().take(message.body().length);
          Object target = filters.length == 1 ? filters[0] : filters;
          open.loop(1).batchTo(open.loop(0)).add(message, target, answer);
          return true;
        });
    return answer;
  }

  private static ReasonCode reason(Answer answer) throws Exception {
    return answer.reason.get(2, TimeUnit.MINUTES);
  }

  private int taken(LiveSession session) {
    return open.on(0, () -> SessionView.taken(session));
  }

  private void assertAllHave(int messages) {
    for (LiveSession each : well) assertThat(taken(each)).as(each.clientId()).isEqualTo(messages);
    await().until(() -> open.on(1, () -> open.loop(1).window().messages()) == 0);
    assertThat(open.fanout().on(0).wide().waiting()).isZero();
  }

  @Test
  void otherSubscribersGetAMessageOfOneFilter() throws Exception {
    subscribers(3);

    assertThat(reason(publish(one))).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);

    assertAllHave(1);
    assertThat(open.meters.get("dunlin.frontend.unexpected").counter().count()).isEqualTo(1);
  }

  @Test
  void otherSubscribersGetEachMessageOfSeveralFiltersOnceAndNoOthers() throws Exception {
    subscribers(3);
    FilterHandle third = OpenFrontend.handle("#", 2);
    FilterHandle fourth = OpenFrontend.handle("t/#", 2);
    LiveSession other = open.session(0, "other");
    subscribe(other, third, fourth);

    assertThat(reason(publish(one, two))).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(reason(publish(third, fourth))).isEqualTo(ReasonCode.SUCCESS);
    assertAllHave(1);
    assertThat(taken(other)).isEqualTo(1);
    assertThat(reason(publish(one, two))).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);

    assertAllHave(2);
    assertThat(taken(other)).isEqualTo(1);
  }

  @Test
  void wideMessagesContinueAfterTheFault() throws Exception {
    subscribers(3 * OpenFrontend.WIDE + 1);

    List<Answer> answers = List.of(publish(one), publish(one, two), publish(two));

    for (Answer each : answers) assertThat(reason(each)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertAllHave(3);
  }

  /**
   * On its own loop, a publisher's message is handed out without a batch, and the exception of one subscriber must not
   * reach the publisher's connection.
   */
  @Test
  void aPublisherOnTheSameLoopOnlyGetsAnErrorAnswer() throws Exception {
    subscribers(3);
    Answer first = new Answer();
    Answer second = new Answer();

    open.on(
        0,
        () -> {
          Publication message = OpenFrontend.message("m");
          assertThat(open.fanout().on(0).deliverToSubscribers(message, one, first)).isTrue();
          assertThat(open.fanout().on(0).deliverToSubscribers(message, new FilterHandle[] {one, two}, 2, second)).isTrue();
          first.answer(ReasonCode.SUCCESS);
          second.answer(ReasonCode.SUCCESS);
          return true;
        });

    assertThat(reason(first)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(reason(second)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertAllHave(2);
  }
}
