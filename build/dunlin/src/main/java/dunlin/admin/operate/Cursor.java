package dunlin.admin.operate;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** The cursors of listings: the name in the last row of a page. Nothing is kept for them, so they stay valid. */
final class Cursor {
  private Cursor() {}

  /** The cursor of the page that begins behind a name. */
  static String after(String name) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(name.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * The name behind which a page begins; empty for the first one.
   *
   * @throws Problem when it is no cursor
   */
  static String read(Arguments given) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(Base64.getUrlDecoder().decode(given.text("cursor")))).toString();
    } catch (IllegalArgumentException | CharacterCodingException wrong) {
      throw none();
    }
  }

  /**
   * The number behind which a page begins; 0 for the first one.
   *
   * @throws Problem when it is no cursor
   */
  static long readNumber(Arguments given) {
    String number = read(given);
    if (number.isEmpty()) return 0;
    if (!number.matches("[0-9]{1,18}")) throw none();
    return Long.parseLong(number);
  }

  private static Problem none() {
    return Problem.invalid("The parameter cursor is none that a page has given.");
  }
}
