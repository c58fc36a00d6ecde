package dunlin.broker.password;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SaslPrepTest {
  /** The examples of RFC 4013, section 3, and additional ones. */
  @ParameterizedTest
  @CsvSource(
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "I\u00ADX,IX", "user,user", "USER,USER", "\u00AA,a", "\u2168,IX", "a\u00A0b,a b", "a\u3000b,a b", "a\u200Bb,a b", "\uFEFFa,a",
        "\u0627\u0628,\u0627\u0628", "\uFF21,A", "A\u030A,\u00C5", "\uD83D\uDE00,\uD83D\uDE00",
      })
  void whatLooksTheSameIsTheSame(String text, String prepared) {
    assertThat(SaslPrep.prepare(text)).hasValue(prepared);
    assertThat(SaslPrep.prepare(text.getBytes(StandardCharsets.UTF_8)))
        .hasValueSatisfying(bytes -> assertThat(new String(bytes, StandardCharsets.UTF_8)).isEqualTo(prepared));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "\u0007", "a\nb", "\u007F", "\u0085", "\u00AD", "\u06DD", "\u2028", "\u2063", "\uFFFD", "\uE000", "\uFDD0", "\uFFFE", "\u2FF0",
        "\u200E", "\u202E", "\u206A", "\uDB40\uDC01", "\uDB40\uDC41", "\uD834\uDD73", "\uDBFF\uDFFE", "\uDBC0\uDC00", "\u06271", "\u0627a\u0628",
      })
  void whatMayNotBeInANameIsRefused(String text) {
    assertThat(SaslPrep.prepare(text)).isEmpty();
    assertThat(SaslPrep.prepare(text.getBytes(StandardCharsets.UTF_8))).isEmpty();
  }

  @Test
  void aPasswordThatIsNotUtf8IsRefused() {
    assertThat(SaslPrep.prepare(new byte[] {'a', (byte) 0xC3})).isEmpty();
    assertThat(SaslPrep.prepare(new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80})).isEmpty();
  }

  @Test
  void aPlainPasswordIsNotCopied() {
    byte[] password = "Correct horse ~".getBytes(StandardCharsets.US_ASCII);

    assertThat(SaslPrep.prepare(password)).hasValueSatisfying(bytes -> assertThat(bytes).isSameAs(password));
  }
}
