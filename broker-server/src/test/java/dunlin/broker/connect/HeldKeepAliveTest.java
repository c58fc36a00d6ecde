package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.session.Hold;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A dead client is detected even while its connection is not read from. */
@Tag("MQTT-3.1.2-22")
class HeldKeepAliveTest {
  /** A keep alive of 1 s: 1.5 s in ticks, and one of tolerance. */
  private static final int SILENCE_TICKS = 16;

  private final OpenFrontend open = new OpenFrontend(1);
  private final EmbeddedChannel channel =
      open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));
  private final Connection connection = Objects.requireNonNull(channel.pipeline().get(Connection.class));

  @AfterEach
  void close() {
    open.close();
  }

  @Test
  void aSilentClientThatIsHeldBackIsClosed() {
    open.on(
        0,
        () -> {
          connection.hold(Hold.CREDIT);
          ticks(SILENCE_TICKS);
          assertThat(channel.isOpen()).isTrue();
          ticks(SILENCE_TICKS);
          return true;
        });
    assertThat(isOpen()).isFalse();
  }

  @Test
  void aHeldBackClientThatStillSendsIsKeptAndServedLater() {
    open.on(
        0,
        () -> {
          connection.hold(Hold.CREDIT);
          for (int i = 0; i < 5; i++) {
            ticks(SILENCE_TICKS);
            channel.writeInbound(Unpooled.copiedBuffer(new byte[] {(byte) 0xC0, 0}));
          }
          assertThat(channel.isOpen()).isTrue();
          channel.releaseOutbound();

          connection.resume(Hold.CREDIT);
          return true;
        });
    // Answers are flushed at the end of a round of the loop, which may be one of the next rounds.
    var bytes = new AtomicInteger();
    await().until(() -> bytes.addAndGet(sent()) >= 10);
    assertThat(bytes).as("five PINGRESP").hasValue(10);
  }

  private int sent() {
    var bytes = new AtomicInteger();
    open.on(
        0,
        () -> {
          channel.runPendingTasks();
          for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            bytes.addAndGet(out.readableBytes());
            out.release();
          }
          return true;
        });
    return bytes.get();
  }

  @Test
  void timeCountsFromWhenReadingResumes() {
    open.on(
        0,
        () -> {
          connection.hold(Hold.CREDIT);
          ticks(2 * SILENCE_TICKS - 2);
          connection.resume(Hold.CREDIT);
          ticks(SILENCE_TICKS - 2);
          assertThat(channel.isOpen()).isTrue();
          ticks(2);
          return true;
        });
    assertThat(isOpen()).isFalse();
  }

  /** Whether it is open after the loop has run all its tasks so far; a connection closes in a separate task. */
  private boolean isOpen() {
    return open.on(0, channel::isOpen);
  }

  private void ticks(int count) {
    for (int i = 0; i < count; i++) open.connections(0).keepAlive().tick();
  }
}
