package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MessageFormTest {
  private static final DecoderLimits LIMITS = DecoderLimits.defaults();
  private static final byte[] PAYLOAD = "on".getBytes(StandardCharsets.UTF_8);

  private static Publication message(String topic, byte[] properties) {
    return MessageForm.message(new Publisher("t", "c"), topic, QoS.EXACTLY_ONCE, true, 7_000, properties, PAYLOAD, LIMITS);
  }

  @Test
  void aMessageHasItsParts() {
    byte[] properties =
        Prop.block(List.of(Prop.of(PropertyId.CONTENT_TYPE, "text/plain"), Prop.of(PropertyId.MESSAGE_EXPIRY_INTERVAL, 60), Prop.user("a", "1"), Prop.user("a", "2")));

    Publication message = message("plant/7/ü", properties);

    assertThat(message.topic()).isEqualTo("plant/7/ü");
    assertThat(message.publisher()).isEqualTo(new Publisher("t", "c"));
    assertThat(message.qos()).isEqualTo(QoS.EXACTLY_ONCE);
    assertThat(message.retain()).isTrue();
    assertThat(message.acceptedAtMillis()).isEqualTo(7_000);
    assertThat(message.payload()).isEqualTo(PAYLOAD);
    assertThat(Arrays.copyOfRange(message.body(), message.topicLength(), message.payloadOffset())).isEqualTo(properties);
    assertThat(message.expired(66_999)).isFalse();
    assertThat(message.expired(67_000)).isTrue();
    assertThat(message.body()[message.expiryOffset() + 3]).as("the last of the four bytes of 60").isEqualTo((byte) 60);
  }

  @Test
  void aMessageWithoutPropertiesDoesNotExpire() {
    Publication message = message("a", new byte[0]);

    assertThat(message.propertiesLength()).isZero();
    assertThat(message.expiryOffset()).isEqualTo(-1);
    assertThat(message.expired(Long.MAX_VALUE)).isFalse();
  }

  static Stream<List<Prop>> wrongProperties() {
    return Stream.of(
        List.of(Prop.of(PropertyId.TOPIC_ALIAS, 1)),
        List.of(Prop.of(PropertyId.WILL_DELAY_INTERVAL, 1)),
        List.of(Prop.of(PropertyId.SUBSCRIPTION_IDENTIFIER, 1)),
        List.of(Prop.of(PropertyId.RESPONSE_TOPIC, "a/#")),
        List.of(Prop.of(PropertyId.RESPONSE_TOPIC, "")),
        List.of(Prop.of(PropertyId.PAYLOAD_FORMAT_INDICATOR, 2)),
        List.of(Prop.of(PropertyId.CONTENT_TYPE, "a"), Prop.of(PropertyId.CONTENT_TYPE, "b")),
        List.of(Prop.user("a", "\u0000")),
        IntStream.rangeClosed(0, LIMITS.packets().userPropertiesMax()).mapToObj(i -> Prop.user("n", "v")).toList());
  }

  @ParameterizedTest
  @MethodSource("wrongProperties")
  void propertiesThatNoPublishPacketMayHaveAreRefused(List<Prop> properties) {
    byte[] block = Prop.block(properties);
    assertThatThrownBy(() -> message("a", block)).isInstanceOf(MalformedPacketException.class).hasMessageMatching(".+");
  }

  @Test
  void propertiesThatEndEarlyAreRefused() {
    byte[] block = Prop.block(List.of(Prop.of(PropertyId.CONTENT_TYPE, "text/plain"), Prop.of(PropertyId.MESSAGE_EXPIRY_INTERVAL, 60)));
    int whole = Prop.block(List.of(Prop.of(PropertyId.CONTENT_TYPE, "text/plain"))).length;
    for (int length = 1; length < block.length; length++) {
      byte[] part = Arrays.copyOf(block, length);
      if (length == whole) assertThat(message("a", part).expiryOffset()).isEqualTo(-1);
      else assertThatThrownBy(() -> message("a", part)).as("%d bytes", length).isInstanceOf(MalformedPacketException.class);
    }
  }

  @Test
  void topicNamesAreThoseOfClients() {
    for (String topic : List.of("", "a/#", "+/a", "a\u0000b", "$share/g/a", "x".repeat(LIMITS.packets().topicLengthMax() + 1), "\uD800")) {
      assertThatThrownBy(() -> message(topic, new byte[0])).as(topic).isInstanceOf(MalformedPacketException.class);
    }
  }
}
