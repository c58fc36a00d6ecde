package dunlin.broker.listen;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.OpenFrontend;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.codec.Wire;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Listeners whose connections have no socket, to test the handlers between a socket and MQTT: WebSocket and the PROXY
 * protocol.
 */
final class Fronts implements AutoCloseable {
  /** The bytes that a connection may hold beside its input: headers, and a buffer that grows by doubling. */
  private static final long HELD_MAX = 64 << 10;

  private final OpenFrontend frontend = new OpenFrontend(1);
  private final Listeners listeners;

  /** The state of a connection after some bytes. */
  record Outcome(boolean open, @Nullable SocketAddress source, byte[] written) {}

  Fronts() {
    var settings =
        new ListeningSettings(
            List.of(
                listener("ws", ListenerSettings.Type.WS, "/mqtt", false, 0), listener("proxy", ListenerSettings.Type.TCP, "", true, 1)),
            IoTransport.NIO,
            65_536);
    listeners = new Listeners(settings, DecoderLimits.defaults(), new SimpleMeterRegistry(), 1_000);
  }

  private static ListenerSettings listener(String name, ListenerSettings.Type type, String path, boolean proxied, int perAddress) {
    return new ListenerSettings(
        name,
        type,
        new ListenerSettings.Address("127.0.0.1", 0, path, 16),
        Set.of(ProtocolVersion.values()),
        new ListenerSettings.Limits(100, perAddress, 0, 1, 0),
        new ListenerSettings.Proxy(proxied, List.of("127.0.0.0/8")),
        List.of(),
        ListenerSettings.Tls.none());
  }

  Listener listener(String name) {
    return listeners.byName(name).orElseThrow();
  }

  /** The outcome for a connection that receives these bytes in pieces of these sizes and is then closed. */
  Outcome connection(Listener listener, byte[] bytes, IntSupplier sizes) {
    var buffers = new UnpooledByteBufAllocator(false);
    EmbeddedChannel channel = frontend.on(0, () -> open(listener, buffers));
    int at = 0;
    while (at < bytes.length) {
      int from = at;
      int size = Math.min(bytes.length - at, Math.max(1, sizes.getAsInt()));
      boolean goesOn =
          frontend.on(
              0,
              () -> {
                if (!channel.isOpen()) return false;
                channel.writeInbound(channel.alloc().buffer(Math.max(size, 16)).writeBytes(bytes, from, size));
                return true;
              });
      frontend.on(0, () -> true); // the end of the round flushes the output
      assertThat(buffers.metric().usedHeapMemory() + buffers.metric().usedDirectMemory())
          .as("bytes held for %d", bytes.length)
          .isLessThanOrEqualTo(HELD_MAX + 4L * bytes.length);
      if (!goesOn) break;
      at += size;
    }
    SocketAddress source = ProxyFront.sourceOf(channel);
    boolean open = channel.isOpen();
    byte[] written =
        frontend.on(
            0,
            () -> {
              channel.close();
              channel.runPendingTasks();
              channel.checkException();
              byte[] all = {};
              while (channel.readOutbound() instanceof ByteBuf part) {
                all = Wire.join(all, ByteBufUtil.getBytes(part));
                part.release();
              }
              return all;
            });
    frontend.on(0, () -> true);
    assertThat(channel.<Object>readInbound()).as("what reached the end of the pipeline").isNull();
    assertThat(frontend.meters.get("dunlin.frontend.unexpected").counter().count()).as("unexpected failures").isZero();
    assertThat(listener.getConnections()).as("connections left").isZero();
    assertThat(buffers.metric().usedHeapMemory() + buffers.metric().usedDirectMemory()).as("bytes not released").isZero();
    return new Outcome(open, source, written);
  }

  private EmbeddedChannel open(Listener listener, UnpooledByteBufAllocator buffers) {
    var channel =
        new EmbeddedChannel(
            new ChannelInitializer<>() {
              @Override
              protected void initChannel(Channel accepted) {
                accepted.config().setAllocator(buffers);
                listener.assemble(accepted, frontend.connection(0, listener));
              }
            }) {
          @Override
          protected SocketAddress remoteAddress0() {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), 4_711);
          }
        };
    assertThat(listener.admit(channel)).isNull();
    channel.closeFuture().addListener(listener);
    return channel;
  }

  @Override
  public void close() {
    listeners.close();
    frontend.close();
  }
}
