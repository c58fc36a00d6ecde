package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.connect.ConnectionView;
import dunlin.broker.loop.Loop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** A client without a socket on one event loop, which uses MQTT 5 in hexadecimal text. */
public final class LoopClient {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final Loop loop;
  private final EmbeddedChannel channel;
  private final StringBuilder heard = new StringBuilder();

  private LoopClient(Frontend frontend, Loop loop) {
    this.loop = loop;
    channel = new EmbeddedChannel((ChannelHandler) ConnectionView.of(frontend.reception().parts().get(loop.index()), frontend.listeners().byName("tcp").orElseThrow()));
  }

  /** Sends a CONNECT with a client identifier of one letter. */
  public static LoopClient connecting(Frontend frontend, int loop, char clientId, int expirySeconds) {
    return connecting(frontend, loop, clientId, expirySeconds, 65_535);
  }

  /** Sends a CONNECT with a Receive Maximum. */
  public static LoopClient connecting(Frontend frontend, int loop, char clientId, int expirySeconds, int receiveMaximum) {
    LoopClient client = on(frontend.loop(loop), () -> new LoopClient(frontend, frontend.loop(loop)));
    String properties = "0811%08x21%04x".formatted(expirySeconds, receiveMaximum);
    client.send("1016" + "00044d515454" + "05" + "00" + "0000" + properties + "0001%02x".formatted((int) clientId));
    return client;
  }

  public static LoopClient connected(Frontend frontend, int loop, char clientId, int expirySeconds) {
    LoopClient client = connecting(frontend, loop, clientId, expirySeconds);
    client.hears("20.*");
    return client;
  }

  /** A client of MQTT 3.1.1 whose session outlives its connection. */
  public static LoopClient connectedMqtt3(Frontend frontend, int loop, char clientId) {
    LoopClient client = on(frontend.loop(loop), () -> new LoopClient(frontend, frontend.loop(loop)));
    client.send("100d" + "00044d515454" + "04" + "00" + "0000" + "0001%02x".formatted((int) clientId));
    client.hears("2002..00");
    return client;
  }

  /** A PUBLISH of MQTT 3 to topic "t" whose payload is text. */
  public static String publishMqtt3(int first, int packetId, String payload) {
    byte[] text = payload.getBytes(StandardCharsets.UTF_8);
    return "%02x%02x000174%04x".formatted(first, 5 + text.length, packetId) + HexFormat.of().formatHex(text);
  }

  /** A PUBLISH to topic "t" whose payload is text. */
  public static String publish(int first, int packetId, String payload) {
    byte[] text = payload.getBytes(StandardCharsets.UTF_8);
    return "%02x%02x000174%04x00".formatted(first, 6 + text.length, packetId) + HexFormat.of().formatHex(text);
  }

  /** A PUBLISH of QoS 0 to topic "t" whose payload is text. */
  public static String publish(int first, String payload) {
    byte[] text = payload.getBytes(StandardCharsets.UTF_8);
    return "%02x%02x00017400".formatted(first, 4 + text.length) + HexFormat.of().formatHex(text);
  }

  /** Sends bytes; if called on the loop, they are processed before anything else. */
  public void send(String hex) {
    on(loop, () -> channel.writeInbound(Unpooled.buffer().writeBytes(HexFormat.of().parseHex(hex))));
  }

  /** Everything that was received since the last {@link #hears}. */
  public String heard() {
    return on(
        loop,
        () -> {
          channel.runPendingTasks();
          for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            heard.append(ByteBufUtil.hexDump(out));
            out.release();
          }
          return heard.toString();
        });
  }

  /** Waits until everything that was received matches a pattern, and then forgets it. */
  public void hears(String pattern) {
    await().atMost(PATIENCE).pollInterval(Duration.ofMillis(1)).untilAsserted(() -> assertThat(heard()).matches(pattern));
    heard.setLength(0);
  }

  /** Waits until the loop has run all its tasks so far, and asserts that this client has received nothing. */
  public void hearsNothing() {
    for (int i = 0; i < 3; i++) on(loop, () -> true);
    assertThat(heard()).isEmpty();
  }

  /** Runs a task on the loop when the channel has closed, before its connection is notified. */
  public void whenClosed(Runnable task) {
    on(loop, () -> channel.closeFuture().addListener(_ -> task.run()));
  }

  /** Waits until the channel has closed, whatever was received before. */
  public void hearsTheEnd() {
    await().atMost(PATIENCE).pollInterval(Duration.ofMillis(1)).until(() -> !isOpen());
    heard();
    heard.setLength(0);
  }

  public boolean isOpen() {
    return on(loop, channel::isOpen);
  }

  public void close() {
    on(
        loop,
        () -> {
          channel.close();
          channel.runPendingTasks();
          return true;
        });
  }

  private static <T> T on(Loop loop, Callable<T> action) {
    try {
      return loop.isCurrent() ? action.call() : loop.executor().submit(action).get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
