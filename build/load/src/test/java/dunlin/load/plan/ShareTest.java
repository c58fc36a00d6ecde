package dunlin.load.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.load.mqtt.Version;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShareTest {
  @ParameterizedTest
  @CsvSource({"1,1", "7,3", "2,5", "12,4", "1000,7"})
  void eachClientIsInOneShare(int clients, int of) {
    var owners = new int[clients];
    for (int index = 0; index < of; index++) {
      var share = new Share(index, of);
      for (int place = 0; place < share.size(clients); place++) {
        int client = share.client(place);
        owners[client]++;
        assertThat(share.has(client)).isTrue();
        assertThat(share.place(client)).isEqualTo(place);
      }
    }

    assertThat(owners).containsOnly(1);
  }

  @Test
  void aShareOutsideTheRangeIsRefused() {
    assertThatThrownBy(() -> new Share(2, 2)).hasMessage("there is no share 2 of 2");
    assertThatThrownBy(() -> new Share(0, 0)).hasMessageContaining("1 to 1,000 workers, and not to 0");
  }

  @Test
  void aStreamNumberMapsToItsPlace() {
    Pool one = pool("one", 2, to("one/%i", 0));
    Pool two = pool("two", 3, to("a/%i", 1), to("b/%i", 2));
    List<Pool> pools = List.of(pool("first", 5), one, pool("more", 5), two);
    var numbers = new StreamNumbers(new Plan("test", pools, List.of(), List.of(), 1, Duration.ofSeconds(1), Duration.ofSeconds(1)));

    assertThat(numbers.count()).isEqualTo(8);
    assertThat(IntStream.range(0, 8).mapToObj(id -> numbers.place(id).publisher() + " " + numbers.place(id).topic()))
        .containsExactly("one-0 one/0", "one-1 one/1", "two-0 a/0", "two-0 b/0", "two-1 a/1", "two-1 b/1", "two-2 a/2", "two-2 b/2");
    assertThat(numbers.first(3, 2)).isEqualTo(6);
    assertThat(numbers.place(7).qos()).isEqualTo(2);
    assertThatThrownBy(() -> numbers.place(8)).hasMessage("there is no stream 8");
  }

  private static Pool pool(String name, int clients, Publishing... publishings) {
    return new Pool(
        name, clients, 0, new Template(name + "-%i"), List.of(Version.V5), true, Duration.ZERO, Duration.ZERO, null, null, null, null, List.of(), List.of(publishings), null, null, 1, 1,
        Access.plain("127.0.0.1", 1));
  }

  private static Publishing to(String topic, int qos) {
    return new Publishing(new Template(topic), List.of(qos), false, null, 1, Payload.ofSize(32));
  }
}
