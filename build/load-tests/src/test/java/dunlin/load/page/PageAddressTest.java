package dunlin.load.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the parser of page addresses. */
class PageAddressTest {
  @ParameterizedTest
  @CsvSource({"8000, 127.0.0.1, 8000", "0, 127.0.0.1, 0", "localhost:80, localhost, 80", "[::1]:9000, ::1, 9000", "10.0.0.1:65535, 10.0.0.1, 65535"})
  void portsAndHostsAreParsed(String text, String host, int port) {
    assertThat(PageAddress.parse(text)).isEqualTo(new PageAddress(host, port));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ":", ":80", "host", "host:", "host:x", "host:65536", "host:-1", "::1:80", "70000", " :80", "1234567"})
  void otherAddressesAreRefused(String text) {
    assertThatThrownBy(() -> PageAddress.parse(text)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("and not at \"" + text + "\"");
  }

  @Test
  void theUrlIsWrittenAsInBrowsers() {
    assertThat(new PageAddress("::1", 0).url(8000)).isEqualTo("http://[::1]:8000/");
    assertThat(new PageAddress("localhost", 0).url(8000)).isEqualTo("http://localhost:8000/");
  }
}
