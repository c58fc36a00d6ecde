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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Messages with more subscribers on a loop than are served without a break. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WideFanoutTest {
  private static final int SUBSCRIBERS = 3 * OpenFrontend.WIDE + 1;

  private final OpenFrontend open = new OpenFrontend(1);

  @AfterAll
  void closes() {
    open.close();
  }

  private List<Subscriber> subscribers(FilterHandle filter, int count) {
    List<Subscriber> subscribers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      LiveSession session = open.session(0, filter.filter().text() + i);
      subscribers.add(subscribe(session, filter));
    }
    return subscribers;
  }

  private Subscriber subscribe(LiveSession session, FilterHandle filter) {
    return open.on(
        0,
        () -> {
          Subscriber subscriber = new Subscriber(session, filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE));
          filter.add(0, subscriber);
          return subscriber;
        });
  }

  /** Delivers like the fan-out; on the loop. */
  private boolean deliver(String payload, Answer answer, FilterHandle... filters) {
    LoopFanout fanout = open.fanout().on(0);
    Publication message = OpenFrontend.message(payload);
    boolean now =
        filters.length == 1
            ? fanout.deliverToSubscribers(message, filters[0], answer)
            : fanout.deliverToSubscribers(message, filters, filters.length, answer);
    if (now) {
      answer.answer(ReasonCode.SUCCESS);
    } else {
      fanout.loop().window().take(message.body().length);
      fanout.wide().add(message, filters, answer, fanout.loop());
    }
    return now;
  }

  private static int taken(LiveSession session) {
    return SessionView.taken(session);
  }

  private void awaitAnswer(Answer answer) throws Exception {
    assertThat(answer.reason.get(60, TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aWideMessageReachesAllSubscribersOnceAndReturnsItsCredit() throws Exception {
    FilterHandle filter = OpenFrontend.handle("wide", 1);
    List<Subscriber> subscribers = subscribers(filter, SUBSCRIBERS);
    Answer answer = new Answer();

    boolean now = open.on(0, () -> deliver("m", answer, filter));

    assertThat(now).isFalse();
    awaitAnswer(answer);
    for (Subscriber each : subscribers) assertThat(open.on(0, () -> taken(OpenFrontend.sessionOf(each)))).isEqualTo(1);
    assertThat(open.fanout().on(0).wide().waiting()).isZero();
    assertThat(open.on(0, () -> open.loop(0).window().messages())).isZero();
  }

  @Test
  void aMessageToFewSubscribersOvertakesAWideOne() throws Exception {
    FilterHandle wide = OpenFrontend.handle("wide", 1);
    FilterHandle narrow = OpenFrontend.handle("narrow", 1);
    subscribers(wide, SUBSCRIBERS);
    Subscriber few = subscribers(narrow, 1).getFirst();
    Answer slow = new Answer();
    Answer quick = new Answer();

    int takenAtOnce =
        open.on(
            0,
            () -> {
              deliver("broadcast", slow, wide);
              deliver("one", quick, narrow);
              return taken(OpenFrontend.sessionOf(few));
            });

    assertThat(takenAtOnce).isEqualTo(1);
    awaitAnswer(slow);
    awaitAnswer(quick);
  }

  @Test
  void theLoopServesOthersBetweenTwoSlices() throws Exception {
    FilterHandle wide = OpenFrontend.handle("wide", 1);
    List<Subscriber> subscribers = subscribers(wide, SUBSCRIBERS);
    Answer answer = new Answer();
    CompletableFuture<Integer> seen = new CompletableFuture<>();

    open.on(
        0,
        () -> {
          deliver("m", answer, wide);
          // Behind the first slice, which is submitted already.
          open.loop(0).executor().execute(() -> seen.complete(count(subscribers)));
          return true;
        });

    assertThat(seen.get(60, TimeUnit.SECONDS)).isEqualTo(OpenFrontend.WIDE);
    awaitAnswer(answer);
    assertThat(open.on(0, () -> count(subscribers))).isEqualTo(SUBSCRIBERS);
  }

  private static int count(List<Subscriber> subscribers) {
    int count = 0;
    for (Subscriber each : subscribers) count += taken(OpenFrontend.sessionOf(each));
    return count;
  }

  @Test
  @Tag("MQTT-4.6.0-6")
  void aMessageBehindAWideOneOfTheSameFilterWaitsForIt() throws Exception {
    FilterHandle wide = OpenFrontend.handle("wide", 1);
    FilterHandle narrow = OpenFrontend.handle("narrow", 1);
    subscribers(wide, SUBSCRIBERS);
    LiveSession both = open.session(0, "both");
    subscribe(both, wide);
    Answer first = new Answer();
    Answer second = new Answer();

    boolean now =
        open.on(
            0,
            () -> {
              deliver("first", first, wide);
              // Now the session subscribes once more, and matches twice from here on.
              narrow.add(0, new Subscriber(both, narrow, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
              return deliver("second", second, narrow, wide);
            });

    assertThat(now).isFalse();
    awaitAnswer(second);
    assertThat(first.reason).isCompleted();
    assertThat(open.on(0, () -> taken(both))).isEqualTo(2);
  }

  @Test
  @Tag("MQTT-3.10.4-2")
  void aSessionThatUnsubscribesBetweenTwoSlicesGetsNothingMore() throws Exception {
    FilterHandle wide = OpenFrontend.handle("wide", 1);
    List<Subscriber> subscribers = subscribers(wide, SUBSCRIBERS);
    Subscriber leaver = subscribers.getLast();
    Answer answer = new Answer();

    open.on(
        0,
        () -> {
          deliver("m", answer, wide);
          open.loop(0).executor().execute(() -> wide.remove(0, leaver));
          return true;
        });

    awaitAnswer(answer);
    assertThat(open.on(0, () -> taken(OpenFrontend.sessionOf(leaver)))).isZero();
    assertThat(open.on(0, () -> count(subscribers))).isEqualTo(SUBSCRIBERS - 1);
  }

  @Test
  void aSessionThatEndsBetweenTwoSlicesDelaysNoOther() throws Exception {
    FilterHandle wide = OpenFrontend.handle("wide", 1);
    List<Subscriber> subscribers = subscribers(wide, SUBSCRIBERS);
    Answer answer = new Answer();

    open.on(
        0,
        () -> {
          deliver("m", answer, wide);
          open.loop(0).executor().execute(() -> OpenFrontend.sessionOf(subscribers.getLast()).end());
          return true;
        });

    awaitAnswer(answer);
    await().until(() -> open.on(0, () -> open.loop(0).window().messages()) == 0);
  }
}
