package dunlin.broker.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.codec.ProtocolVersion;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WebOriginsTest {
  private static final InetSocketAddress LOOPBACK = new InetSocketAddress(InetAddress.getLoopbackAddress(), 8083);
  private static final InetSocketAddress ELSEWHERE = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 8083);

  @Test
  void aClientThatIsNotABrowserNeedsNoOrigin() {
    assertThat(origins().admits(List.of(), List.of("broker:8083"), ELSEWHERE)).isTrue();
    assertThat(origins("https://app.example.com").admits(List.of(), List.of(), LOOPBACK)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "http://broker.example.com,       broker.example.com:8083, true",
    "https://broker.example.com:8443, broker.example.com,      true",
    "http://BROKER.example.com,       broker.EXAMPLE.com:8083, true",
    "http://[2001:db8::1],            [2001:db8::1]:8083,      true",
    "http://evil.example.com,         broker.example.com:8083, false",
    "http://broker.example.com.evil,  broker.example.com:8083, false",
    "http://localhost,                broker.example.com:8083, false",
    "null,                            broker.example.com:8083, false",
    "file://,                         broker.example.com:8083, false",
    "broker.example.com,              broker.example.com:8083, false",
    "http://a b,                      a b,                     false",
  })
  void withoutAListThePageMustComeFromTheSameHost(String origin, String host, boolean admitted) {
    assertThat(origins().admits(List.of(origin), List.of(host), ELSEWHERE)).isEqualTo(admitted);
  }

  /** The page's host name first pointed to the page's server and now points to loopback. */
  @ParameterizedTest
  @CsvSource({
    "http://rebound.example.com, rebound.example.com:8083, false",
    "http://127.0.0.1.evil.com,  127.0.0.1.evil.com:8083,  false",
    "http://localhost:3000,      localhost:8083,           true",
    "http://app.localhost,       app.localhost:8083,       true",
    "http://127.0.0.1:3000,      127.0.0.1:8083,           true",
    "http://[::1]:3000,          [::1]:8083,               true",
  })
  void overLoopbackAPageMustHaveANameOfLoopback(String origin, String host, boolean admitted) {
    assertThat(origins().admits(List.of(origin), List.of(host), LOOPBACK)).isEqualTo(admitted);
  }

  @Test
  void twoOriginsOrTwoHostsAreRefused() {
    List<String> same = List.of("http://localhost");
    assertThat(origins().admits(List.of("http://localhost", "http://localhost"), List.of("localhost"), LOOPBACK)).isFalse();
    assertThat(origins().admits(same, List.of("localhost", "localhost"), LOOPBACK)).isFalse();
    assertThat(origins().admits(same, List.of(), LOOPBACK)).isFalse();
  }

  @Test
  void withAListOnlyItsOriginsAreAdmitted() {
    WebOrigins listed = origins("https://App.example.com", "http://other.example.com:81");

    assertThat(listed.admits(List.of("https://app.example.com:443"), List.of("broker"), ELSEWHERE)).isTrue();
    assertThat(listed.admits(List.of("http://other.example.com:81"), List.of("broker"), LOOPBACK)).isTrue();
    assertThat(listed.admits(List.of("http://app.example.com"), List.of("broker"), ELSEWHERE)).isFalse();
    assertThat(listed.admits(List.of("http://other.example.com"), List.of("broker"), ELSEWHERE)).isFalse();
    assertThat(listed.admits(List.of("http://broker"), List.of("broker"), ELSEWHERE)).isFalse();
  }

  @Test
  void anAsteriskAdmitsAll() {
    assertThat(origins("*").admits(List.of("null"), List.of("broker"), LOOPBACK)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"app.example.com", "https://", "https://app.example.com/path", "https://u@app.example.com", "https://*.example.com", "**"})
  void aWrongElementIsNamed(String wrong) {
    assertThatThrownBy(() -> origins("https://app.example.com", wrong))
        .isInstanceOf(ListenerException.class)
        .hasMessageContaining(wrong)
        .hasMessageContaining("dunlin.listeners.web.origins");
  }

  private static WebOrigins origins(String... allowed) {
    return WebOrigins.of(
        new ListenerSettings(
            "web",
            ListenerSettings.Type.WS,
            new ListenerSettings.Address("127.0.0.1", 0, "/mqtt", 16),
            Set.of(ProtocolVersion.values()),
            new ListenerSettings.Limits(100, 0, 0, 1, 0),
            new ListenerSettings.Proxy(false, List.of()),
            List.of(allowed),
            ListenerSettings.Tls.none()));
  }
}
