package dunlin.load.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests user input: units, templates, credentials. */
class UnitsTest {
  @ParameterizedTest
  @CsvSource({"50ms, PT0.05S", "1.5s, PT1.5S", "5min, PT5M", "1h, PT1H", "250us, PT0.00025S"})
  void durations(String text, Duration expected) {
    assertThat(Units.duration(text)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"20/s, 20", "600/min, 10", "every 90s, 0.0111111", "3600/h, 1", "0.5 / s, 0.5"})
  void rates(String text, double perSecond) {
    assertThat(Units.rate(text).perSecond()).isCloseTo(perSecond, org.assertj.core.data.Offset.offset(1e-6));
  }

  @ParameterizedTest
  @ValueSource(strings = {"20", "20/x", "fast", "0/s", "every 0s", "every", "-1/s"})
  void otherRatesAreRefused(String text) {
    assertThatThrownBy(() -> Units.rate(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"5", "5 parsecs", "", "-5s"})
  void otherDurationsAreRefused(String text) {
    assertThatThrownBy(() -> Units.duration(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @CsvSource({"a/%i/b, a/123/b", "%c, id", "%u-%i, me-123", "%{i/10}, 12", "%{i%5}, 3", "%{i*2}, 246", "%{i+1}, 124", "100%%, 100%", "50% off, 50% off", "%x, %x"})
  void templates(String text, String filled) {
    assertThat(new Template(text).fill(new Who(123, "id", "me"))).isEqualTo(filled);
  }

  @Test
  void aTemplateThatDividesByZeroIsRefused() {
    assertThatThrownBy(() -> new Template("%{i%0}")).hasMessageContaining("divides by 0");
  }

  @Test
  void credentialsAreReadFromAFile(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("users.csv"), "user,password,certificate,key\nann,\"a,\"\"b\"\"\",a.pem,a.key\n\nbob,,,\n");

    Credentials credentials = Credentials.read(file);

    assertThat(credentials.row(0).password()).isEqualTo("a,\"b\"");
    assertThat(credentials.row(0).certificate()).isEqualTo(directory.resolve("a.pem"));
    assertThat(credentials.row(1).password()).isNull();
    assertThat(credentials.row(2).user()).isEqualTo("ann");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {"user,colour|line 1: there is no column \"colour\"", "user,password;a|line 2: 1 columns", "user;\"a|line 2: a quotation mark", "user|has no line", "certificate,key;a,|line 2: a certificate and its key"})
  void anErrorInCredentialsNamesItsLine(String text, String message, @TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("users.csv"), text.replace(';', '\n'));

    assertThatThrownBy(() -> Credentials.read(file)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(message);
  }
}
