package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** QoS 0 messages to a group in which no member has room. */
class GroupDeliveryTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  private final OpenFrontend open = new OpenFrontend(2);
  private final FilterHandle filter = OpenFrontend.handle("$share/g/t", 2);
  private final ShareGroup group = Objects.requireNonNull(filter.group());
  private final LiveSession publisher = open.session(0, "publisher");
  private final Subscriber member =
      new Subscriber(open.session(0, "member"), filter, SubscriptionOptions.of(QoS.AT_MOST_ONCE));

  @BeforeEach
  void joins() {
    group.add(member);
  }

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void aMessageAndItsPublisherWaitUntilAMemberHasRoom() {
    memberTakes(false);
    publish(10);
    assertThat(waiting()).isOne();
    assertThat(publisherIsRead()).isFalse();

    memberTakes(true);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(publisherIsRead()).isTrue();
    assertThat(delivered()).isOne();
    assertThat(dropped()).isZero();
    assertThat(group.taken()).isOne();
  }

  @Test
  void aPublisherContinuesOnlyWhenAllOfItsMessagesHaveRoom() {
    memberTakes(false);
    FilterHandle other = OpenFrontend.handle("$share/h/t", 2);
    ShareGroup otherGroup = Objects.requireNonNull(other.group());
    Subscriber taking = new Subscriber(open.session(0, "taking"), other, SubscriptionOptions.of(QoS.AT_MOST_ONCE));
    otherGroup.add(taking);
    takes(taking, false);
    publish(10, filter, other);
    assertThat(waiting()).isEqualTo(2);

    takes(taking, true);
    await().atMost(SOON).until(() -> waiting() < 2);
    if (waiting() == 1) assertThat(publisherIsRead()).isFalse();
    memberTakes(true);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(publisherIsRead()).isTrue();
  }

  @Test
  void aMessageThatWaitsInVainIsDroppedAndLaterOnesAtOnceUntilAMemberTakesOneAgain() {
    memberTakes(false);
    publish(10);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(dropped()).isOne();
    assertThat(publisherIsRead()).isTrue();

    publish(10);
    assertThat(waiting()).isZero();
    assertThat(dropped()).isEqualTo(2);
    assertThat(publisherIsRead()).isTrue();

    memberTakes(true);
    publish(10);
    assertThat(delivered()).isOne();
    memberTakes(false);
    publish(10);
    assertThat(waiting()).isOne();
  }

  @Test
  void waitingMessagesAreBoundedInBytes() {
    memberTakes(false);
    int half = OpenFrontend.GROUP_WAITS.unacknowledgedBytesMax() / 2;
    publish(half - 10);
    publish(half - 10);
    publish(half);
    assertThat(waiting()).isEqualTo(2);
    assertThat(dropped()).isOne();
  }

  @Test
  void theWaitEndsWhenTheLastMemberLeaves() {
    memberTakes(false);
    publish(10);
    open.on(0, this::leave);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(dropped()).isOne();
    assertThat(publisherIsRead()).isTrue();
  }

  /**
   * A loop that passes messages on notices only with a delay that a member is full; until then, only its lane's window
   * bounds the messages.
   */
  @Test
  void aMessageOfAnotherLoopKeepsTheCreditOfItsLaneUntilAMemberHasRoom() {
    isFullUnseen();
    int half = OpenFrontend.GROUP_WAITS.unacknowledgedBytesMax() / 2;
    passOn(3, half);
    await().atMost(SOON).until(() -> waiting() == 3);
    assertThat(onTheWay()).isEqualTo(3);
    assertThat(dropped()).isZero();

    memberTakes(true);
    await().atMost(SOON).until(() -> onTheWay() == 0);
    assertThat(waiting()).isZero();
    assertThat(delivered()).isEqualTo(3);
  }

  @Test
  void aMessageOfAnotherLoopReturnsItsCreditWhenItIsDropped() {
    isFullUnseen();
    passOn(1, 10);
    await().atMost(SOON).until(() -> waiting() == 1);
    assertThat(onTheWay()).isOne();
    await().atMost(SOON).until(() -> onTheWay() == 0);
    assertThat(waiting()).isZero();
    assertThat(dropped()).isOne();
    assertThat(group.stalled()).isTrue();

    passOn(1, 10);
    await().atMost(SOON).until(() -> dropped() == 2);
    await().atMost(SOON).until(() -> onTheWay() == 0);
  }

  @Test
  void aMessageOfAnotherLoopReturnsItsCreditWhenTheLastMemberLeaves() {
    isFullUnseen();
    passOn(1, 10);
    await().atMost(SOON).until(() -> waiting() == 1);
    open.on(0, this::leave);
    await().atMost(SOON).until(() -> onTheWay() == 0);
    assertThat(waiting()).isZero();
    assertThat(dropped()).isOne();
    assertThat(group.stalled()).isFalse();
  }

  private boolean leave() {
    group.remove(member);
    return true;
  }

  private static Publication message(int bytes) {
    var by = new Publisher(Publisher.DEFAULT_TENANT, "publisher");
    return Publication.of(by, "t", QoS.AT_MOST_ONCE, false, System.currentTimeMillis(), new byte[bytes]);
  }

  /** The member takes no more messages, and other loops do not know that yet. */
  private void isFullUnseen() {
    open.on(0, () -> writable(member, false));
  }

  /** Passes messages on in one round of the other loop, before it learns the outcome of the first. */
  private void passOn(int messages, int bytes) {
    open.on(
        1,
        () -> {
          for (int i = 0; i < messages; i++) open.fanout().on(1).groups().dispatch(message(bytes), filter, null, null);
          return true;
        });
  }

  /** Messages in flight of the other loop's lane. */
  private int onTheWay() {
    return open.on(1, () -> open.loop(1).window().messages());
  }

  private void publish(int bytes, FilterHandle... more) {
    FilterHandle[] filters = more.length == 0 ? new FilterHandle[] {filter} : more;
    var message = message(bytes);
    open.on(
        0,
        () -> {
          open.loop(0).readClock();
          GroupDelivery groups = open.fanout().on(0).groups();
          for (FilterHandle each : filters) groups.dispatch(message, each, publisher.inbound(), null);
          return true;
        });
  }

  private void memberTakes(boolean takes) {
    takes(member, takes);
  }

  private void takes(Subscriber who, boolean takes) {
    open.on(
        0,
        () -> {
          writable(who, takes);
          SessionView.updateLoad(OpenFrontend.sessionOf(who));
          return true;
        });
  }

  private static boolean writable(Subscriber who, boolean writable) {
    Channel channel = OpenFrontend.sessionOf(who).connection().context().channel();
    Objects.requireNonNull(channel.unsafe().outboundBuffer()).setUserDefinedWritability(1, writable);
    return true;
  }

  private long waiting() {
    // Wait until the work of the other loop has arrived.
    open.on(1, () -> true);
    return open.on(0, () -> open.groupWaiting());
  }

  private boolean publisherIsRead() {
    return open.on(0, () -> publisher.connection().context().channel().config().isAutoRead());
  }

  private long delivered() {
    return (long) count("delivered");
  }

  private long dropped() {
    return (long) count("dropped");
  }

  private double count(String what) {
    return open.meters.find("dunlin.messages." + what).tag("hop", "session").functionCounters().stream()
        .mapToDouble(counter -> counter.count())
        .sum();
  }
}
