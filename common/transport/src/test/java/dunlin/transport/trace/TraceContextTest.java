package dunlin.transport.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceContextTest {
  private static final String SAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

  /** A User Property. */
  static byte[] property(String name, String value) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(0x26);
    for (String text : new String[] {name, value}) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      out.write(bytes.length >> 8);
      out.write(bytes.length);
      out.writeBytes(bytes);
    }
    return out.toByteArray();
  }

  static Publication message(String clientId, String topic, long acceptedAt, String payload, byte[]... properties) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(topic.getBytes(StandardCharsets.UTF_8));
    int topicLength = body.size();
    for (byte[] each : properties) body.writeBytes(each);
    int propertiesLength = body.size() - topicLength;
    body.writeBytes(payload.getBytes(StandardCharsets.UTF_8));
    return new Publication(
        new Publisher("default", clientId), QoS.AT_LEAST_ONCE, false, acceptedAt, Publication.NEVER_EXPIRES, -1, topicLength, propertiesLength, body.toByteArray(), null);
  }

  private static @Nullable TraceContext said(byte[]... properties) {
    return TraceContext.said(message("c", "a", 7, "x", properties));
  }

  private static TraceContext present(byte[]... properties) {
    return Objects.requireNonNull(said(properties));
  }

  @Test
  void thePublishersTraceIsRead() {
    TraceContext said = present(property("a", "b"), property("traceparent", SAMPLED), property("traceparent", SAMPLED.replace('4', '5')));

    assertThat("%016x%016x".formatted(said.high(), said.low())).isEqualTo("4bf92f3577b34da6a3ce929d0e0e4736");
    assertThat("%016x".formatted(said.parent())).isEqualTo("00f067aa0ba902b7");
    assertThat(said.sampled()).isTrue();
    assertThat(present(property("traceparent", SAMPLED.replace("-01", "-00"))).sampled()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
      })
  void whatIsNoTraceIsAsIfItWereNotThere(String value) {
    assertThat(said(property("traceparent", value))).isNull();
    assertThat(said(property("Traceparent", SAMPLED))).as("names are as they are written").isNull();
    assertThat(said()).isNull();
    assertThat(TraceContext.said(message("c", "a", 7, new String(property("traceparent", SAMPLED), StandardCharsets.UTF_8)))).as("in a payload").isNull();
  }

  @Test
  void eachNodeDerivesTheSameOfTheSameMessage() {
    Publication message = message("c", "plant/7", 7_000, "x");
    ByteBuffer stored = ByteBuffer.allocate(message.encodedLength());
    message.writeTo(stored);
    Publication elsewhere = Publication.readFrom(stored.flip());

    assertThat(TraceContext.derived(elsewhere)).isEqualTo(TraceContext.derived(message));
    assertThat(TraceContext.derived(message.asRepetition())).isEqualTo(TraceContext.derived(message));
    assertThat(TraceContext.hash(elsewhere)).isEqualTo(TraceContext.hash(message));
  }

  @Test
  void messagesHaveNumbersOfTheirOwn() {
    Set<TraceContext> derived = new HashSet<>();
    Set<Long> spans = new HashSet<>();
    int count = 0;
    for (String clientId : new String[] {"", "c", "d"}) {
      for (String topic : new String[] {"a", "b"}) {
        for (long at = 0; at < 1_000; at++) {
          for (String payload : new String[] {"x", "y", "xx"}) {
            TraceContext one = TraceContext.derived(message(clientId, topic, at, payload));
            derived.add(one);
            spans.add(one.span());
            count++;
          }
        }
      }
    }
    assertThat(derived).hasSize(count);
    assertThat(spans).hasSize(count);
  }
}
