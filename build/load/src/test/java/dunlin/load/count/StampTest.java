package dunlin.load.count;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stamps as bytes and as text. */
class StampTest {
  private static final long NOW = 1_795_000_000_123_456L;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aWrittenStampIsReadBack(boolean text) {
    ByteBuf out = Unpooled.buffer();
    if (text) {
      out.writeCharSequence("{\"stamp\": \"", StandardCharsets.US_ASCII);
      Stamp.writeText(out, 0xBEEF, 0xABCDEF, (1L << 40) - 2, NOW - 1_500);
      out.writeCharSequence("\"}", StandardCharsets.US_ASCII);
    } else {
      Stamp.write(out, 0xBEEF, 0xABCDEF, (1L << 40) - 2, NOW - 1_500);
      out.writeZero(100);
    }

    var stamp = new Stamp();

    assertThat(stamp.read(out, 0, out.readableBytes())).isEqualTo(Stamp.Kind.MESSAGE);
    assertThat(stamp.run()).isEqualTo(0xBEEF);
    assertThat(stamp.stream()).isEqualTo(0xABCDEF);
    assertThat(stamp.key()).isEqualTo(0xBEEFABCDEFL);
    assertThat(stamp.sequence()).isEqualTo((1L << 40) - 2);
    assertThat(stamp.ageMicros(NOW)).isEqualTo(1_500);
    assertThat(stamp.ageMicros(NOW - 2_000)).isEqualTo(-500);
  }

  @Test
  void aWillIsRecognized() {
    var stamp = new Stamp();

    assertThat(stamp.read(Unpooled.wrappedBuffer(Stamp.will(77)), 0, Stamp.BYTES)).isEqualTo(Stamp.Kind.WILL);
    assertThat(stamp.run()).isEqualTo(77);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "short", "a text that has no stamp in it at all, however long", "dunlin:00000000000000000000000000000000", "dunlin:ff0000zz000000000000000000000000"})
  void otherPayloadsAreForeign(String payload) {
    ByteBuf in = Unpooled.copiedBuffer(payload, StandardCharsets.UTF_8);

    assertThat(new Stamp().read(in, 0, in.readableBytes())).isEqualTo(Stamp.Kind.FOREIGN);
  }

  @Test
  void timesWrapAroundAfterTwelveDays() {
    ByteBuf out = Unpooled.buffer();
    Stamp.write(out, 1, 1, 1, (1L << 40) - 10);
    var stamp = new Stamp();
    stamp.read(out, 0, Stamp.BYTES);

    assertThat(stamp.ageMicros((1L << 40) + 5)).isEqualTo(15);
  }
}
