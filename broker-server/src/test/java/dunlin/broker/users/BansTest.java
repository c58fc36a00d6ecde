package dunlin.broker.users;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.users.AccessEntry.Ban;
import dunlin.broker.users.AccessEntry.Kind;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BansTest {
  private static final Bans BANS =
      new Bans(
          List.of(
              new Ban(Kind.BANNED_ADDRESS, "192.0.2.0/25", 0, ""),
              new Ban(Kind.BANNED_ADDRESS, "198.51.100.7", 1_000, ""),
              new Ban(Kind.BANNED_ADDRESS, "2001:db8::/33", 0, ""),
              new Ban(Kind.BANNED_CLIENT, "pump", 0, ""),
              new Ban(Kind.BANNED_USER, "mallory", 1_000, "")));

  @ParameterizedTest
  @CsvSource({
    "192.0.2.127, a, b, 0, true", "192.0.2.128, a, b, 0, false", "192.0.3.1, a, b, 0, false", "198.51.100.7, a, b, 999, true", "198.51.100.7, a, b, 1000, false",
    "198.51.100.8, a, b, 0, false", "2001:db8:7fff::1, a, b, 0, true", "2001:db8:8000::1, a, b, 0, false", "10.0.0.1, pump, b, 0, true", "10.0.0.1, pumps, b, 0, false",
    "10.0.0.1, a, mallory, 999, true", "10.0.0.1, a, mallory, 1000, false", "10.0.0.1, mallory, pump, 0, false"
  })
  void aClientIsBannedByItsAddressOrName(String address, String clientId, String user, long nowMillis, boolean banned) {
    assertThat(BANS.find(clientId, user, new InetSocketAddress(address, 1), nowMillis).isPresent()).isEqualTo(banned);
  }
}
