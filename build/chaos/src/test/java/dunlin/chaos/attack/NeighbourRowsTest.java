package dunlin.chaos.attack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.attack.Delays.Change;
import dunlin.chaos.attack.Delays.Kind;
import dunlin.chaos.attack.NeighbourTrial.Outcome;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MessageId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class NeighbourRowsTest {
  private static final long MILLI = 1_000_000;

  private final List<Event> history = new ArrayList<>();

  private void published(long millis, int number, boolean retain) {
    history.add(new Event.Published(millis * MILLI, "publisher", 1, new MessageId("publisher", number), "t", 1, retain, false, -1, false));
  }

  private void acknowledged(long millis, int number) {
    history.add(new Event.Acknowledged(millis * MILLI, "publisher", new MessageId("publisher", number), 0));
  }

  private void received(long millis, int number, int qos) {
    history.add(new Event.Received(millis * MILLI, "subscriber", 1, new MessageId("publisher", number), "t", qos, false, false, false, 1, false, -1));
  }

  private void visited(long millis, long connecting, long subscribing) {
    long connected = (millis + connecting) * MILLI;
    history.add(new Event.Connected(connected, "visitor", 1, 1, 5, millis * MILLI, true, 0, false));
    history.add(new Event.Subscribed(connected + subscribing * MILLI, "visitor", 1, connected, "t", 1));
  }

  /** What happens in 100 ms, each request with this delay. */
  private void phase(long from, int number, long delay) {
    published(from, number, false);
    published(from + 1, number + 1, true);
    acknowledged(from + delay, number);
    acknowledged(from + 1 + delay, number + 1);
    received(from + delay, number, 0);
    received(from + delay, number, 1);
    visited(from, delay, delay);
  }

  @Test
  void delaysOfBothPhasesAreComparedByKind() {
    phase(0, 1, 50); // before the quiet phase
    phase(100, 3, 2);
    phase(200, 5, 6);
    phase(300, 7, 50); // after the flood

    var changes = Delays.changes(history, 100 * MILLI, 200 * MILLI, 300 * MILLI);

    assertThat(changes).extracting(Change::kind).containsExactly(Kind.values());
    assertThat(changes).allSatisfy(each -> assertThat(each.quiet()).isEqualTo(Duration.ofMillis(2))).allSatisfy(each -> assertThat(each.flooded()).isEqualTo(Duration.ofMillis(6)));
    assertThat(changes.getFirst().ratio()).isEqualTo(3);
    assertThat(changes.getFirst().isFair(2)).isFalse();
    assertThat(changes.getFirst().isFair(3)).isTrue();
    assertThat(new Change(Kind.PUBACK, Duration.ofMillis(1), Duration.ofMillis(5)).isFair(2)).as("unnoticed").isTrue();
  }

  @Test
  void whatIsNotAnsweredCountsUntilTheEnd() {
    phase(0, 1, 2);
    phase(100, 3, 2);
    published(190, 9, false);
    history.add(new Event.Broker(1_190 * MILLI, Event.Deed.DRAINED, 0, ""));

    var changes = Delays.changes(history, 0, 100 * MILLI, 200 * MILLI);

    for (var each : changes) {
      boolean missing = each.kind() == Kind.PUBACK || each.kind() == Kind.ONLINE || each.kind() == Kind.DURABLE;
      assertThat(each.flooded()).as("%s", each.kind()).isEqualTo(missing ? Duration.ofSeconds(1) : Duration.ofMillis(2));
    }
  }

  @Test
  void messagesThatOneOfTwoSubscribersMissesAreLost() {
    phase(0, 1, 2);
    assertThat(NeighbourTrial.lost(history)).isZero();

    published(10, 3, false);
    received(11, 3, 1);
    assertThat(NeighbourTrial.lost(history)).isEqualTo(1);
    published(12, 4, false);
    assertThat(NeighbourTrial.lost(history)).isEqualTo(3);
  }

  @Test
  void theCommandLineIsParsed() {
    var request = NeighbourRows.parse(List.of("--only", "messages,sessions", "--seconds", "5", "--times", "10", "--ratio", "1.5", "--distribution", "here"));
    assertThat(request.only()).containsExactly("messages", "sessions");
    assertThat(request.seconds()).isEqualTo(5);
    assertThat(request.times()).isEqualTo(10);
    assertThat(request.ratio()).isEqualTo(1.5);
    assertThat(request.distribution()).isEqualTo(Path.of("here").toAbsolutePath());
  }

  @Test
  void invalidArgumentsAreRefused() {
    assertThatThrownBy(() -> NeighbourRows.parse(List.of("--only", "none-such", "--distribution", "here"))).hasMessage("there is no row none-such");
    assertThatThrownBy(() -> NeighbourRows.parse(List.of("--fast"))).hasMessage("there is no option --fast");
    assertThatThrownBy(() -> NeighbourRows.parse(List.of("--times"))).hasMessage("--times needs a value");
    assertThatThrownBy(() -> NeighbourRows.parse(List.of("--times", "0", "--distribution", "here"))).hasMessage("--times 0 is less than 1");
    assertThatThrownBy(() -> NeighbourRows.parse(List.of("--seconds", "0", "--distribution", "here"))).hasMessage("--seconds 0 is less than 1");
    assertThatThrownBy(() -> NeighbourRows.parse(List.of())).hasMessage("--distribution is missing");
  }

  @Test
  void theTableShowsBothPhasesAndFailures() {
    var flood = Floods.ALL.getFirst();
    var changes = List.of(new Change(Kind.PUBACK, Duration.ofMillis(2), Duration.ofMillis(9)));
    var failed = new Outcome(flood, 1_000, "9 sent", changes, 2, List.of("2 messages were lost"));
    var broken = new Outcome(flood, 1_000, "", List.of(), 0, List.of("has not come to its end"));

    assertThat(NeighbourRows.table(List.of(failed))).contains("| 1,000 | 9 sent | 2.0, 9.0 |  |").contains("| 2 | failed: 2 messages were lost |");
    assertThat(NeighbourRows.table(List.of(broken))).contains("| 0 | failed: has not come to its end |");
  }

  @Test
  void eachTenantHasAListenerOfItsOwn() {
    assertThat(Neighbourhood.settings()).hasSize(2 * Neighbourhood.TENANTS).containsEntry("dunlin.listeners.t07.tenant", "t07").containsEntry("dunlin.listeners.t63.port", "0");
  }
}
