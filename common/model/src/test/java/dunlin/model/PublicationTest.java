package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PublicationTest {
  private static final Publisher PUBLISHER = new Publisher("tenant", "client");

  static LongStream seeds() {
    return LongStream.range(0, 300);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatItWrote(long seed) {
    Publication written = random(new Random(seed));
    var buffer = ByteBuffer.allocate(written.encodedLength() + 7);

    written.writeTo(buffer);
    assertThat(buffer.remaining()).as("seed %d", seed).isEqualTo(7);
    Publication read = Publication.readFrom(buffer.flip());

    assertThat(buffer.hasRemaining()).as("seed %d", seed).isFalse();
    assertThat(read).as("seed %d", seed).usingRecursiveComparison().isEqualTo(written);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBytesNeverGiveAnInconsistentMessage(long seed) {
    var random = new Random(seed);
    Publication written = random(random);
    var buffer = ByteBuffer.allocate(written.encodedLength());
    written.writeTo(buffer);
    buffer.flip();
    for (int i = 0; i < 3; i++) buffer.put(random.nextInt(Math.min(40, buffer.limit())), (byte) random.nextInt(256));
    if (random.nextBoolean()) buffer.limit(random.nextInt(buffer.limit()));

    Publication read;
    try {
      read = Publication.readFrom(buffer);
    } catch (IllegalStateException | IllegalArgumentException | BufferUnderflowException expected) {
      return;
    }
    assertThat(read.payload()).as("seed %d", seed).hasSize(read.payloadLength());
    assertThat(read.topicLength() + read.propertiesLength() + read.payloadLength())
        .as("seed %d", seed)
        .isEqualTo(read.body().length);
    if (read.expiryOffset() >= 0) {
      assertThat(read.expiryOffset()).as("seed %d", seed).isBetween(read.topicLength(), read.payloadOffset() - 4);
    }
  }

  @Test
  void refusesPartsThatDoNotFitTheBody() {
    assertThatThrownBy(() -> message(0, 0, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(11, 0, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(1, Integer.MAX_VALUE, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(1, -1, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(1, 6, 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(1, 6, 4)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> message(1, 6, Integer.MAX_VALUE)).isInstanceOf(IllegalArgumentException.class);
  }

  /** Nodes of earlier versions read QoS and RETAIN out of the same byte. */
  @Test
  void aWillThatIsUnderRulesIsStoredAsOthersButForOneBit() {
    Publication plain = Publication.of(PUBLISHER, "a", QoS.AT_LEAST_ONCE, true, 7, new byte[3]);
    byte[] marked = stored(plain.underRules());

    assertThat(Publication.readFrom(ByteBuffer.wrap(marked)).isUnderRules()).isTrue();
    assertThat(Publication.readFrom(ByteBuffer.wrap(stored(plain))).isUnderRules()).isFalse();
    assertThat(plain.underRules().acceptedAt(8).isUnderRules()).as("published").isFalse();
    marked[1] &= 0x07;
    assertThat(marked).isEqualTo(stored(plain));
  }

  private static byte[] stored(Publication message) {
    byte[] bytes = new byte[message.encodedLength()];
    message.writeTo(ByteBuffer.wrap(bytes));
    return bytes;
  }

  @Test
  void refusesAnUnknownFormat() {
    assertThatThrownBy(() -> Publication.readFrom(ByteBuffer.wrap(new byte[100])))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("format 0");
  }

  @Test
  void knowsItsParts() {
    var message = Publication.of(PUBLISHER, "ä/b", QoS.AT_LEAST_ONCE, true, 5, new byte[] {1, 2});

    assertThat(message.topic()).isEqualTo("ä/b");
    assertThat(message.topicLength()).isEqualTo(4);
    assertThat(message.payload()).containsExactly(1, 2);
    assertThat(message.tenant()).isEqualTo("tenant");
    assertThat(message.exchange()).isNull();
    assertThat(message.expired(Long.MAX_VALUE)).isFalse();
    assertThat(message).hasToString("Publication[ä/b, AT_LEAST_ONCE, retain, 2 bytes]");
  }

  @Test
  @Tag("MQTT-3.3.2-5")
  @Tag("MQTT-3.3.2-6")
  void expiresAfterItsIntervalAndReturnsTheRemainingTime() {
    Publication message = expiring(1_000_000, 10);

    assertThat(message.expired(1_009_999)).isFalse();
    assertThat(message.expired(1_010_000)).isTrue();
    assertThat(message.remainingExpirySeconds(1_000_000)).isEqualTo(10);
    assertThat(message.remainingExpirySeconds(1_000_001)).isEqualTo(10);
    assertThat(message.remainingExpirySeconds(1_001_000)).isEqualTo(9);
    assertThat(message.remainingExpirySeconds(2_000_000)).isZero();
    assertThat(message.remainingExpirySeconds(0)).as("a clock that is behind").isEqualTo(10);
  }

  @Test
  void treatsTheExpiryIntervalAsUnsigned() {
    Publication message = expiring(0, -1);

    assertThat(message.expired(4_294_967_294_999L)).isFalse();
    assertThat(message.expired(4_294_967_295_000L)).isTrue();
    assertThat(message.remainingExpirySeconds(0)).isEqualTo(4_294_967_295L);
  }

  private static Publication expiring(long acceptedAt, int seconds) {
    return new Publication(PUBLISHER, QoS.AT_MOST_ONCE, false, acceptedAt, seconds, 2, 1, 5, new byte[10], null);
  }

  private static Publication message(int topicLength, int propertiesLength, int expiryOffset) {
    return new Publication(
        PUBLISHER, QoS.AT_MOST_ONCE, false, 0, 1, expiryOffset, topicLength, propertiesLength, new byte[10], null);
  }

  private static Publication random(Random random) {
    byte[] body = new byte[1 + random.nextInt(200)];
    random.nextBytes(body);
    int topicLength = 1 + random.nextInt(body.length);
    int propertiesLength = random.nextInt(body.length - topicLength + 1);
    boolean expires = propertiesLength >= 4 && random.nextBoolean();
    return new Publication(
        new Publisher("t" + random.nextInt(), "ç" + random.nextInt()),
        QoS.of(random.nextInt(3)),
        random.nextBoolean(),
        random.nextLong(),
        expires ? random.nextInt() : Publication.NEVER_EXPIRES,
        expires ? topicLength + random.nextInt(propertiesLength - 3) : -1,
        topicLength,
        propertiesLength,
        body,
        null);
  }
}
