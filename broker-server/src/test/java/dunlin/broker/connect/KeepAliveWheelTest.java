package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KeepAliveWheelTest {
  private static final int TICK = KeepAliveWheel.TICK_MILLIS;

  private final KeepAliveWheel wheel = new KeepAliveWheel();
  private final List<Client> silent = new ArrayList<>();

  private final class Client extends KeepAliveWheel.Watched {
    int lastHeard;
    int ticksMax;
    boolean gone;

    @Override
    void silent() {
      silent.add(this);
    }
  }

  @Test
  void aSilentClientIsFoundAndNotBefore() {
    Client client = new Client();
    wheel.watch(client, 10L * TICK);

    tick(9);
    assertThat(silent).isEmpty();
    tick(3);
    assertThat(silent).containsExactly(client);
    tick(5_000);
    assertThat(silent).hasSize(1);
  }

  @Test
  void aClientThatSendsStays() {
    Client client = new Client();
    wheel.watch(client, 10L * TICK);
    for (int i = 0; i < 100; i++) {
      tick(9);
      wheel.heard(client);
    }
    assertThat(silent).isEmpty();
  }

  @Test
  void aKeepAliveLongerThanATurnOfTheWheelIsKept() {
    Client client = new Client();
    wheel.watch(client, 3_000L * TICK);

    tick(2_999);
    assertThat(silent).isEmpty();
    tick(3);
    assertThat(silent).containsExactly(client);
  }

  @Test
  void zeroSwitchesItOff() {
    Client client = new Client();
    wheel.watch(client, 5L * TICK);
    wheel.watch(client, 0);

    tick(10_000);
    assertThat(silent).isEmpty();
  }

  static LongStream seeds() {
    return LongStream.range(0, 30);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void findsExactlyTheSilentOnes(long seed) {
    Random random = new Random(seed);
    List<Client> clients = new ArrayList<>();
    for (int now = 0; now < 4_000; now++) {
      if (random.nextInt(4) == 0) {
        Client client = new Client();
        client.ticksMax = 1 + random.nextInt(random.nextBoolean() ? 50 : 2_500);
        client.lastHeard = now;
        wheel.watch(client, (long) client.ticksMax * TICK);
        clients.add(client);
      }
      Client one = clients.isEmpty() ? null : clients.get(random.nextInt(clients.size()));
      if (one != null && !one.gone) {
        if (random.nextInt(50) == 0) {
          wheel.forget(one);
          one.gone = true;
        } else {
          wheel.heard(one);
          one.lastHeard = now;
        }
      }
      silent.clear();
      tick(1);
      int after = now + 1;
      for (Client found : silent) {
        assertThat(after - found.lastHeard).as("seed %d: closed too early", seed).isGreaterThan(found.ticksMax);
        assertThat(after - found.lastHeard).as("seed %d: closed too late", seed).isLessThanOrEqualTo(found.ticksMax + 2);
        assertThat(found.gone).as("seed %d: closed though forgotten", seed).isFalse();
        found.gone = true;
      }
    }
  }

  private void tick(int count) {
    for (int i = 0; i < count; i++) wheel.tick();
  }
}
