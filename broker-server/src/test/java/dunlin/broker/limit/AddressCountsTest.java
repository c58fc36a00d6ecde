package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which addresses count as one client address, and which belong to a network. */
class AddressCountsTest {
  private final AddressCounts counts = new AddressCounts(2);

  @ParameterizedTest
  @CsvSource({"192.0.2.1,192.0.2.1", "2001:db8::1,2001:db8::ffff:ffff:ffff:ffff"})
  void oneAddressHasAsManyAsTheMaximum(String one, String same) {
    assertThat(counts.add(address(one))).isTrue();
    assertThat(counts.add(address(same))).isTrue();
    assertThat(counts.add(address(one))).isFalse();
    counts.remove(address(same));
    assertThat(counts.add(address(one))).isTrue();
  }

  @Test
  void differentAddressesDoNotCountTogether() {
    List<String> different =
        List.of("192.0.2.1", "192.0.2.2", "1.2.0.192", "0.0.0.0", "255.255.255.255", "::", "::1:0:0:0:0", "2001:db8::", "2001:db8:0:1::");
    for (String one : different) {
      assertThat(counts.add(address(one))).as(one).isTrue();
      assertThat(counts.add(address(one))).as(one).isTrue();
      assertThat(counts.add(address(one))).as(one).isFalse();
    }
    assertThat(counts.size()).isEqualTo(different.size());
  }

  @Test
  void nothingIsKeptOfAddressesWithoutConnections() {
    for (int i = 0; i < 2; i++) counts.add(address("192.0.2.1"));
    counts.add(address("192.0.2.1"));
    for (int i = 0; i < 2; i++) counts.remove(address("192.0.2.1"));
    assertThat(counts.size()).isZero();
    counts.remove(address("192.0.2.1"));
    assertThat(counts.size()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.0/8,10.255.1.2,true", "10.0.0.0/8,11.0.0.0,false", "192.0.2.128/25,192.0.2.127,false", "192.0.2.128/25,192.0.2.129,true",
    "192.0.2.1,192.0.2.1,true", "192.0.2.1,192.0.2.2,false", "0.0.0.0/0,203.0.113.1,true", "0.0.0.0/0,::1,false", "::/0,::1,true",
    "::/0,127.0.0.1,false", "2001:db8::/33,2001:db8:7fff::,true", "2001:db8::/33,2001:db8:8000::,false", "::1,::1,true",
  })
  void aNetworkHasTheAddressesThatBeginLikeIt(String network, String address, boolean contained) {
    assertThat(AddressRange.parse(network).orElseThrow().contains(address(address))).isEqualTo(contained);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "/8", "10.0.0.0/8/8", "10.0.0.0/ 8"})
  void whatIsNoNetworkIsNone(String text) {
    assertThat(AddressRange.parse(text)).isEmpty();
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
