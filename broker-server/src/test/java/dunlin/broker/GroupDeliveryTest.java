package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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

/** What becomes of messages of QoS 0 to a group in which nobody has room. */
class GroupDeliveryTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  private final OpenFrontend open = new OpenFrontend(1);
  private final FilterHandle filter = OpenFrontend.handle("$share/g/t", 1);
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
  void aMessageWaitsAndItsPublisherWithItUntilAMemberHasRoom() {
    memberTakes(false);
    publish(10);
    assertThat(waiting()).isOne();
    assertThat(publisherIsRead()).isFalse();

    memberTakes(true);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(publisherIsRead()).isTrue();
    assertThat(delivered()).isOne();
    assertThat(dropped()).isZero();
  }

  @Test
  void aPublisherGoesOnOnlyWhenAllOfItsMessagesHaveRoom() {
    memberTakes(false);
    FilterHandle other = OpenFrontend.handle("$share/h/t", 1);
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
  void whatWaitsInVainIsDroppedAndWhatFollowsAtOnceUntilAMemberTakesSomethingAgain() {
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
  void whatWaitsIsBoundedInBytes() {
    memberTakes(false);
    int half = OpenFrontend.GROUP_WAITS.unacknowledgedBytesMax() / 2;
    publish(half - 10);
    publish(half - 10);
    publish(half);
    assertThat(waiting()).isEqualTo(2);
    assertThat(dropped()).isOne();
  }

  @Test
  void aMemberThatLeavesTakesTheWaitWithIt() {
    memberTakes(false);
    publish(10);
    open.on(0, this::leave);
    await().atMost(SOON).until(() -> waiting() == 0);
    assertThat(dropped()).isOne();
    assertThat(publisherIsRead()).isTrue();
  }

  private boolean leave() {
    group.remove(member);
    return true;
  }

  private void publish(int bytes, FilterHandle... more) {
    FilterHandle[] filters = more.length == 0 ? new FilterHandle[] {filter} : more;
    var by = new Publisher(Publisher.DEFAULT_TENANT, "publisher");
    var message = Publication.of(by, "t", QoS.AT_MOST_ONCE, false, System.currentTimeMillis(), new byte[bytes]);
    open.on(
        0,
        () -> {
          open.loop(0).readClock();
          GroupDelivery groups = open.loop(0).groups();
          groups.publishing(publisher.inbound());
          for (FilterHandle each : filters) groups.dispatch(message, each, null);
          groups.publishing(null);
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
          Channel channel = who.session.connection().context().channel();
          Objects.requireNonNull(channel.unsafe().outboundBuffer()).setUserDefinedWritability(1, takes);
          who.session.updateLoad();
          return true;
        });
  }

  private int waiting() {
    return open.on(0, () -> open.loop(0).groups().waiting());
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
