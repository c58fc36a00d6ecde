package dunlin.broker.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.OpenFrontend;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.Hold;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LaneWindowTest {
  private final OpenFrontend open = new OpenFrontend(1);

  @AfterAll
  void closes() {
    open.close();
  }

  @Test
  void isExhaustedInMessagesOrInBytes() {
    LaneWindow window = new LaneWindow(2, 100);
    window.take(10);
    assertThat(window.exhausted()).isFalse();
    window.take(10);
    assertThat(window.exhausted()).isTrue();

    window.give(2, 20);
    window.take(100);
    assertThat(window.exhausted()).isTrue();
    assertThat(window.messages()).isEqualTo(1);
  }

  @Test
  void aPublisherThatHoldsMoreThanIsLeftForOthersHoldsMost() {
    LaneWindow window = new LaneWindow(10, 100);
    for (int i = 0; i < 6; i++) window.take(1);

    assertThat(window.isMost(4, 4)).isFalse();
    assertThat(window.isMost(5, 5)).isTrue();
    assertThat(window.isMost(1, 95)).isTrue();
  }

  @Test
  void aTenantThatHoldsMoreThanIsLeftForOthersHoldsMost() {
    LaneWindow window = new LaneWindow(10, 100);
    LaneWindow.Share flood = window.join("flood");
    window.join("flood");
    for (int i = 0; i < 6; i++) flood.take(1);
    assertThat(flood.isMost()).as("as the only tenant").isFalse();

    LaneWindow.Share quiet = window.join("quiet");
    assertThat(flood.isMost()).isTrue();
    quiet.take(1);
    assertThat(quiet.isMost()).isFalse();
    flood.give(1);
    flood.give(1);
    assertThat(flood.isMost()).isFalse();
    flood.take(95);
    assertThat(flood.isMost()).as("by its bytes").isTrue();
    assertThat(window.messages()).isEqualTo(6);
    assertThat(window.bytes()).isEqualTo(100);

    quiet.leave();
    assertThat(flood.isMost()).as("as the only tenant again").isFalse();
  }

  @Test
  void whatPublishersHoldIsReturnedAfterTheyHaveLeft() {
    LaneWindow window = new LaneWindow(10, 100);
    LaneWindow.Share before = window.join("tenant");
    before.take(5);
    before.leave();
    LaneWindow.Share after = window.join("tenant");
    assertThat(after).isNotSameAs(before);

    before.give(5);
    assertThat(window.messages()).isZero();
    assertThatThrownBy(() -> after.give(5)).isInstanceOf(AssertionError.class);
  }

  @Test
  void theDistTierMayAllowFewerBytesThanTheSetting() {
    LaneWindow window = new LaneWindow(10, 100);
    window.take(50);
    window.allow(50);
    assertThat(window.exhausted()).isTrue();
    assertThat(window.isMost(1, 1)).isTrue();

    window.allow(1_000);
    assertThat(window.exhausted()).isFalse();
    assertThat(window.isMost(1, 51)).isTrue();
  }

  @Test
  void connectionsAreReadFromAgainWhenMoreBytesAreAllowed() {
    LaneWindow window = new LaneWindow(10, 100);
    window.take(50);
    window.allow(50);
    var again = new AtomicInteger();
    window.hold(again::incrementAndGet);

    window.allow(99);
    assertThat(again).hasValue(0);
    window.allow(100);
    assertThat(again).hasValue(1);
  }

  @Test
  void noMoreCreditCanBeReturnedThanWasTaken() {
    LaneWindow window = new LaneWindow(2, 100);
    window.take(10);
    assertThatThrownBy(() -> window.give(2, 10)).isInstanceOf(AssertionError.class);
  }

  @Test
  void connectionsAreReadFromAgainWhenHalfOfTheWindowIsFree() {
    LaneWindow window = open.loop(0).window();
    open.on(
        0,
        () -> {
          EmbeddedChannel[] channels = new EmbeddedChannel[3];
          for (int i = 0; i < channels.length; i++) {
            ClientConnection connection = open.connection(0);
            channels[i] = new EmbeddedChannel((ChannelHandler) connection);
            connection.holdForCredit();
            connection.holdForCredit();
          }
          for (int i = 0; i < OpenFrontend.LANE_MESSAGES; i++) window.take(10);
          assertThat(window.heldConnections()).isEqualTo(3);
          assertThat(channels).noneMatch(channel -> channel.config().isAutoRead());

          window.give(OpenFrontend.LANE_MESSAGES / 2 - 1, 10L * (OpenFrontend.LANE_MESSAGES / 2 - 1));
          assertThat(channels).noneMatch(channel -> channel.config().isAutoRead());
          window.give(1, 10);
          assertThat(channels).allMatch(channel -> channel.config().isAutoRead());
          assertThat(window.heldConnections()).isZero();
          window.give(OpenFrontend.LANE_MESSAGES / 2, 10L * (OpenFrontend.LANE_MESSAGES / 2));
          return true;
        });
  }

  @Test
  void aConnectionThatIsHeldForAnotherReasonAsWellWaitsForThatToo() {
    open.on(
        0,
        () -> {
          ClientConnection connection = open.connection(0);
          EmbeddedChannel channel = new EmbeddedChannel((ChannelHandler) connection);
          connection.holdForCredit();
          connection.hold(Hold.PENDING);
          open.loop(0).window().take(1);
          open.loop(0).window().give(1, 1);
          assertThat(channel.config().isAutoRead()).isFalse();

          connection.resume(Hold.PENDING);
          assertThat(channel.config().isAutoRead()).isTrue();
          return true;
        });
  }
}
