package dunlin.broker.password;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.Arrays;
import java.util.Optional;

/** Normalizes user names and passwords for comparison: SASLprep, RFC 4013. */
public final class SaslPrep {
  private SaslPrep() {}

  /** The normalized text; empty if nothing remains of it, or if it has characters that are not allowed. */
  public static Optional<String> prepare(String text) {
    StringBuilder mapped = new StringBuilder(text.length());
    text.codePoints().filter(c -> isSpace(c) || !isMappedToNothing(c)).forEach(c -> mapped.appendCodePoint(isSpace(c) ? ' ' : c));
    String normal = Normalizer.normalize(mapped, Normalizer.Form.NFKC);
    if (normal.isEmpty() || normal.codePoints().anyMatch(SaslPrep::isProhibited) || !directionsAgree(normal)) {
      return Optional.empty();
    }
    return Optional.of(normal);
  }

  /**
   * The same for a password in UTF-8. A password of printable ASCII characters, as most are, is returned unchanged,
   * without a copy as a String that would stay in memory.
   */
  public static Optional<byte[]> prepare(byte[] password) {
    boolean plain = password.length > 0;
    for (byte b : password) plain &= b >= 0x20 && b < 0x7F;
    if (plain) return Optional.of(password);
    try {
      CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(password));
      Optional<String> prepared = prepare(text.toString());
      Arrays.fill(text.array(), ' ');
      return prepared.map(normal -> normal.getBytes(StandardCharsets.UTF_8));
    } catch (CharacterCodingException _) {
      return Optional.empty();
    }
  }

  /** RFC 3454, table C.1.2. */
  private static boolean isSpace(int c) {
    return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200B) || c == 0x202F || c == 0x205F || c == 0x3000;
  }

  /** RFC 3454, table B.1. */
  private static boolean isMappedToNothing(int c) {
    return c == 0xAD || c == 0x34F || c == 0x1806 || (c >= 0x180B && c <= 0x180D) || (c >= 0x200C && c <= 0x200D)
        || c == 0x2060 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF;
  }

  /** RFC 3454, tables C.2.1 to C.9; characters that NFKC or the mapping has removed before are left out. */
  private static boolean isProhibited(int c) {
    return Character.isISOControl(c)
        || c == 0x6DD || c == 0x70F || c == 0x180E || (c >= 0x2028 && c <= 0x2029) || (c >= 0x2061 && c <= 0x2063)
        || (c >= 0xFFF9 && c <= 0xFFFD) || (c >= 0x1D173 && c <= 0x1D17A)
        || Character.getType(c) == Character.PRIVATE_USE
        || (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE
        || Character.getType(c) == Character.SURROGATE
        || (c >= 0x2FF0 && c <= 0x2FFB)
        || c == 0x340 || c == 0x341 || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x206A && c <= 0x206F)
        || c == 0xE0001 || (c >= 0xE0020 && c <= 0xE007F);
  }

  /**
   * RFC 3454, section 6: right-to-left text has no left-to-right letters, and begins and ends with right-to-left
   * letters.
   */
  private static boolean directionsAgree(String text) {
    if (text.codePoints().noneMatch(SaslPrep::isRightToLeft)) return true;
    return text.codePoints().noneMatch(c -> Character.getDirectionality(c) == Character.DIRECTIONALITY_LEFT_TO_RIGHT)
        && isRightToLeft(text.codePointAt(0))
        && isRightToLeft(text.codePointBefore(text.length()));
  }

  private static boolean isRightToLeft(int c) {
    byte direction = Character.getDirectionality(c);
    return direction == Character.DIRECTIONALITY_RIGHT_TO_LEFT || direction == Character.DIRECTIONALITY_RIGHT_TO_LEFT_ARABIC;
  }
}
