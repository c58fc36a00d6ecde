package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.OpenFrontend;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ConnectionTableTest {
  private static final int LOOPS = 2;
  private static final int LOOP = 1;

  private final OpenFrontend open = new OpenFrontend(LOOPS);

  @AfterEach
  void close() {
    open.close();
  }

  static LongStream seeds() {
    return LongStream.range(0, 5);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aConnectionIsFoundByItsNumberWhileItIsOpenAndNeverAfterwards(long seed) {
    Random random = new Random(seed);
    open.on(
        LOOP,
        () -> {
          ConnectionTable table = open.connections(LOOP).table();
          Map<Long, Connection> model = new HashMap<>();
          List<EmbeddedChannel> channels = new ArrayList<>();
          List<Long> gone = new ArrayList<>();
          for (int step = 0; step < 2_000; step++) {
            if (channels.isEmpty() || random.nextInt(100) < (step < 1_000 ? 65 : 35)) {
              var connection = (Connection) open.connection(LOOP);
              channels.add(new EmbeddedChannel(connection));
              assertThat(connection.number() % LOOPS).as("seed %d", seed).isEqualTo(LOOP);
              assertThat(model.put(connection.number(), connection)).as("seed %d, step %d", seed, step).isNull();
              assertThat(gone).as("seed %d, step %d", seed, step).doesNotContain(connection.number());
            } else {
              EmbeddedChannel closed = channels.remove(random.nextInt(channels.size()));
              long number = closed.pipeline().get(Connection.class).number();
              closed.close();
              model.remove(number);
              gone.add(number);
            }
            if (step % 50 == 0) check(table, model, gone, "seed " + seed + ", step " + step);
          }
          for (EmbeddedChannel channel : channels) channel.close();
          assertThat(table.size()).as("seed %d", seed).isZero();
          assertThat(table.all()).as("seed %d", seed).isEmpty();
          return null;
        });
  }

  private static void check(ConnectionTable table, Map<Long, Connection> model, List<Long> gone, String when) {
    assertThat(table.size()).as(when).isEqualTo(model.size());
    assertThat(table.all()).as(when).containsExactlyInAnyOrderElementsOf(model.values());
    model.forEach((number, connection) -> assertThat(table.get(number)).as(when).isSameAs(connection));
    for (long number : gone) assertThat(table.get(number)).as(when).isNull();
    assertThat(table.get(0)).as(when).isNull();
  }
}
