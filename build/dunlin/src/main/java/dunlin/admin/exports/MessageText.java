package dunlin.admin.exports;

import dunlin.broker.auth.Identity;
import dunlin.model.Publication;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/** The parts of messages as texts in lines. */
final class MessageText {
  private static final int TEXT_BYTES_MAX = 65_535;

  private MessageText() {}

  static String properties(Publication message) {
    return Base64.getEncoder().encodeToString(Arrays.copyOfRange(message.body(), message.topicLength(), message.payloadOffset()));
  }

  static String payload(Publication message) {
    return Base64.getEncoder().encodeToString(message.payload());
  }

  static byte[] propertiesOf(String text) {
    return decoded(text, Base64.getDecoder(), "the properties are not in Base64");
  }

  static byte[] payloadOf(String text) {
    return decoded(text, Base64.getDecoder(), "the payload is not in Base64");
  }

  static String cursor(byte[] position) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(position);
  }

  static byte[] positionOf(String cursor) {
    return decoded(cursor, Base64.getUrlDecoder(), "the cursor is none that a page has given");
  }

  private static byte[] decoded(String text, Base64.Decoder decoder, String otherwise) {
    try {
      return decoder.decode(text);
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException(otherwise, wrong);
    }
  }

  /**
   * A text as packets may have it.
   *
   * @param what it is, with its article
   */
  static String checked(String text, String what) {
    if (Identity.isText(text) && text.getBytes(StandardCharsets.UTF_8).length <= TEXT_BYTES_MAX) return text;
    throw new IllegalArgumentException("%s: it has U+0000, half of a character, or more than 65,535 bytes".formatted(what));
  }
}
