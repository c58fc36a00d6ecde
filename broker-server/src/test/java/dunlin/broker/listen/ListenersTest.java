package dunlin.broker.listen;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.codec.DecoderLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The state that listeners share. */
class ListenersTest {
  private static final ListeningSettings SETTINGS =
      new ListeningSettings(
          List.of(ListenerSettings.tcp("one", "127.0.0.1", 0), ListenerSettings.tcp("other", "127.0.0.1", 0)), IoTransport.NIO, 65_536);

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
