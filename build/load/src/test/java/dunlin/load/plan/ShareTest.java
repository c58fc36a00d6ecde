package dunlin.load.plan;

import static dunlin.load.Plans.open;
import static dunlin.load.Plans.plan;
import static dunlin.load.Plans.pool;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.load.mqtt.Version;
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
  void thereIsNoShareOutside() {
    assertThatThrownBy(() -> new Share(2, 2)).hasMessage("there is no share 2 of 2");
    assertThatThrownBy(() -> new Share(0, 0)).hasMessageContaining("1 to 1,000 workers, and not to 0");
  }

  @Test
  void aStreamsNumberSaysWhereItIs() {
    Pool one = pool("one", 2, 1, Version.V5, List.of(), List.of(open("one/%i", 0, 1)));
    Pool two = pool("two", 3, 1, Version.V5, List.of(), List.of(open("a/%i", 1, 1), open("b/%i", 2, 1)));
    var numbers = new StreamNumbers(plan(List.of(silent("first"), one, silent("more"), two), List.of()));

    assertThat(numbers.count()).isEqualTo(8);
    assertThat(IntStream.range(0, 8).mapToObj(id -> numbers.place(id).publisher() + " " + numbers.place(id).topic()))
        .containsExactly("one-0 one/0", "one-1 one/1", "two-0 a/0", "two-0 b/0", "two-1 a/1", "two-1 b/1", "two-2 a/2", "two-2 b/2");
    assertThat(numbers.first(3, 2)).isEqualTo(6);
    assertThat(numbers.place(7).qos()).isEqualTo(2);
    assertThatThrownBy(() -> numbers.place(8)).hasMessage("there is no stream 8");
  }

  private static Pool silent(String name) {
    return pool(name, 5, 1, Version.V5, List.of(), List.of());
  }
}
