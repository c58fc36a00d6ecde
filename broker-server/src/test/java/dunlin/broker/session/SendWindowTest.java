package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SendWindowTest {
  private static final Publication MESSAGE =
      Publication.of(new Publisher("t", "c"), "a", QoS.AT_LEAST_ONCE, false, 0, new byte[0]);

  @Test
  @Tag("MQTT-3.3.4-9")
  @Tag("MQTT-4.9.0-2")
  void takesNoMoreThanTheReceiveMaximum() {
    SendWindow window = new SendWindow(2);
    window.add(outgoing(1));
    assertThat(window.hasRoom(2)).isTrue();
    window.add(outgoing(2));

    assertThat(window.hasRoom(3)).isFalse();

    window.remove(Objects.requireNonNull(window.find(SendWindow.packetId(1))));
    assertThat(window.hasRoom(3)).isTrue();
  }

  @Test
  @Tag("MQTT-2.2.1-4")
  @Tag("MQTT3-2.3.1-4")
  void neverHasAnIdentifierInUseTwice() {
    SendWindow window = new SendWindow(65_535);
    window.add(outgoing(10));

    assertThat(window.hasRoom(10 + 65_534)).isTrue();
    assertThat(window.hasRoom(10 + 65_535)).isFalse();
  }

  @Test
  @Tag("MQTT-2.2.1-4")
  @Tag("MQTT3-2.3.1-1")
  void identifiersWrapWithoutZero() {
    assertThat(SendWindow.packetId(1)).isEqualTo(1);
    assertThat(SendWindow.packetId(65_535)).isEqualTo(65_535);
    assertThat(SendWindow.packetId(65_536)).isEqualTo(1);
    assertThat(SendWindow.packetId(2L * 65_535 + 1)).isEqualTo(1);
  }

  /** It counts for one message in what is bounded. */
  @Test
  void aClientThatAcknowledgesAllButOneMessageTakesLittle() {
    SendWindow window = new SendWindow(100);
    window.add(outgoing(10));
    int most = 0;
    for (long sequence = 11; window.hasRoom(sequence); sequence++) {
      window.add(outgoing(sequence));
      window.remove(Objects.requireNonNull(window.find(SendWindow.packetId(sequence))));
      most = Math.max(most, window.places());
    }
    assertThat(most).isLessThan(1_000);
    assertThat(Objects.requireNonNull(window.first()).sequence).isEqualTo(10);
    window.remove(Objects.requireNonNull(window.find(SendWindow.packetId(10))));
    assertThat(window.size()).isZero();
    assertThat(window.hasRoom(10 + 65_535)).isTrue();
  }

  @Test
  void aWindowThatWasWideTakesLittleOnceLittleIsInFlight() {
    SendWindow window = new SendWindow(10_000);
    for (long sequence = 1; sequence <= 10_000; sequence++) window.add(outgoing(sequence));
    for (long sequence = 2; sequence <= 9_900; sequence++) window.remove(Objects.requireNonNull(window.find(SendWindow.packetId(sequence))));
    assertThat(window.places()).as("with the first one").isLessThan(1_000);
    window.remove(Objects.requireNonNull(window.first()));
    assertThat(Objects.requireNonNull(window.first()).sequence).isEqualTo(9_901);

    SendWindow ordered = new SendWindow(10_000);
    for (long sequence = 1; sequence <= 10_000; sequence++) ordered.add(outgoing(sequence));
    for (long sequence = 1; sequence <= 9_900; sequence++) ordered.remove(Objects.requireNonNull(ordered.find(SendWindow.packetId(sequence))));
    assertThat(ordered.places()).isLessThanOrEqualTo(2_048);
    assertThat(ordered.size()).isEqualTo(100);
  }

  @Test
  void findsNothingForIdentifiersThatWereNotSent() {
    SendWindow window = new SendWindow(10);

    assertThat(window.find(1)).isNull();
    window.add(outgoing(5));
    assertThat(window.find(SendWindow.packetId(4))).isNull();
    assertThat(window.find(SendWindow.packetId(6))).isNull();
    assertThat(window.find(0)).isNull();
  }

  static LongStream seeds() {
    return LongStream.range(0, 50);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void behavesAsASortedMap(long seed) {
    Random random = new Random(seed);
    int maximum = 1 + random.nextInt(100);
    SendWindow window = new SendWindow(maximum);
    SortedMap<Long, Outgoing> model = new TreeMap<>();
    long sequence = random.nextInt(200_000);
    for (int step = 0; step < 3_000; step++) {
      if (random.nextInt(5) < 3 && window.hasRoom(sequence)) {
        Outgoing message = outgoing(sequence);
        window.add(message);
        model.put(sequence, message);
        sequence += random.nextInt(20) == 0 ? 1 + random.nextInt(5_000) : 1; // an inbox's sequences may have gaps
      } else if (!model.isEmpty()) {
        Long victim = new ArrayList<>(model.keySet()).get(random.nextInt(Math.min(model.size(), 10)));
        Outgoing found = window.find(SendWindow.packetId(victim));
        assertThat(found).as("seed %d, step %d", seed, step).isSameAs(model.remove(victim));
        window.remove(Objects.requireNonNull(found));
      }
      assertThat(window.size()).as("seed %d, step %d", seed, step).isEqualTo(model.size());
      if (model.isEmpty()) continue;
      boolean room = model.size() < maximum && sequence - model.firstKey() < 65_535;
      assertThat(window.hasRoom(sequence)).as("seed %d, step %d", seed, step).isEqualTo(room);
    }
    List<Outgoing> visited = new ArrayList<>();
    window.forEach(visited::add);
    assertThat(visited).as("seed %d", seed).containsExactlyElementsOf(model.values());
  }

  private static Outgoing outgoing(long sequence) {
    Outgoing message = new Outgoing(MESSAGE, QoS.AT_LEAST_ONCE, false, new int[0], null);
    message.sequence = sequence;
    return message;
  }
}
