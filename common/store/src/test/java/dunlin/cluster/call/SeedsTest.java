package dunlin.cluster.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The syntax of dunlin.cluster.seeds. */
class SeedsTest {
  @Test
  void addressesAreSeparatedByCommas() throws UnknownHostException {
    assertThat(Seeds.parse("a.example:7000, 10.0.0.1:7001,[::1]:7002").resolve())
        .containsExactly(new NodeAddress("a.example", 7000), new NodeAddress("10.0.0.1", 7001), new NodeAddress("::1", 7002));
  }

  @Test
  void aNameStandsForAllOfItsAddresses() throws UnknownHostException {
    assertThat(Seeds.parse("dns:localhost:7000").resolve())
        .isNotEmpty()
        .allMatch(address -> address.port() == 7000)
        .allMatch(address -> address.name().equals("localhost"))
        .anyMatch(address -> address.host().equals("127.0.0.1") || address.host().contains(":"));
  }

  @Test
  void aSingleNodeHasNone() throws UnknownHostException {
    assertThat(Seeds.parse("").resolve()).isEmpty();
    assertThat(Seeds.parse("  ").resolve()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "a:", ":1", "a:0", "a:65536", "a:1,", ",a:1", "a:1,,b:2", "dns:a", "::1:7000", "a:-1", "dns::7", "a:1x"})
  void invalidAddressesAreRefused(String text) {
    assertThatThrownBy(() -> Seeds.parse(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void anAddressIsWrittenAsItWasParsed() {
    for (String text : new String[] {"a.example:7000", "[::1]:7002"}) assertThat(NodeAddress.parse(text)).hasToString(text);
  }
}
