package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.codec.DecoderLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What listeners have together. */
class ListenersTest {
  private static final FrontendSettings SETTINGS =
      new FrontendSettings(
          List.of(ListenerSettings.tcp("one", "127.0.0.1", 0), ListenerSettings.tcp("other", "127.0.0.1", 0)), IoTransport.NIO,
          1, Duration.ofSeconds(10), OpenFrontend.PACKETS, FrontendSettings.Features.all(), 100, 100, 0, 0, Duration.ZERO,
          FrontendSettings.NEVER,
          FrontendSettings.NEVER, 10, 65_536, 100, 65_536, 1_000, 1_000_000, OpenFrontend.GROUP_WAITS, "", 1_024);

  @Test
  void allListenersShareTheConnectionsOfTheProcess() {
    try (var listeners = new Listeners(SETTINGS, DecoderLimits.defaults(), new SimpleMeterRegistry(), 3)) {
      Listener one = listeners.byName("one").orElseThrow();
      Listener other = listeners.byName("other").orElseThrow();
      List<EmbeddedChannel> open = new ArrayList<>();
      for (Listener listener : List.of(one, other, one)) {
        var channel = new EmbeddedChannel();
        open.add(channel);
        assertThat(listener.admit(channel)).isNull();
        channel.closeFuture().addListener(listener);
      }
      var late = new EmbeddedChannel();
      for (Listener listener : List.of(one, other)) assertThat(listener.admit(late)).isEqualTo(ListenerRefusal.PROCESS);
      assertThat(one.getConnections()).isEqualTo(2);

      open.getFirst().close().syncUninterruptibly();
      assertThat(one.getConnections()).isEqualTo(1);
      assertThat(other.admit(late)).isNull();
      assertThat(other.getConnections()).isEqualTo(2);
      for (EmbeddedChannel channel : open) channel.finishAndReleaseAll();
      late.finishAndReleaseAll();
    }
  }
}
