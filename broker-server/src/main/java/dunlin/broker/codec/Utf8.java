package dunlin.broker.codec;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Checks UTF-8 encoded strings by the rules of MQTT; MQTT 5, section 1.5.4. */
final class Utf8 {
  /*
   * Nearly all text is printable ASCII, so eight bytes are checked in one step: if none has its top bit set,
   * subtracting 0x20 from each borrows only where there is a control character, and adding 1 carries into the top bit
   * only at 0x7F. Bytes that fail this test are checked one code point at a time.
   */
  private static final long TOP = 0x8080808080808080L;
  private static final long ONES = 0x0101010101010101L;
  private static final long SPACES = 0x2020202020202020L;

  private Utf8() {}

  /**
   * The first violation in these bytes, or null if they are valid [MQTT-1.5.4-1, -2].
   *
   * @param refuseControlCharacters whether control characters and non-characters are violations as well, not only
   *     U+0000
   */
  static @Nullable String violation(ByteBuf in, int from, int length, boolean refuseControlCharacters) {
    int end = from + length;
    int i = from;
    while (i < end) {
      if (end - i >= 8 && isPlain(in.getLong(i), refuseControlCharacters)) {
        i += 8;
        continue;
      }
      int first = in.getUnsignedByte(i);
      if (first < 0x80) {
        if (first == 0) return "U+0000";
        if (refuseControlCharacters && (first < 0x20 || first == 0x7F)) return "a control character";
        i++;
        continue;
      }
      int size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
      if (size == 0 || end - i < size) return "bytes that are not UTF-8";
      int codePoint = first & (0x7F >> size);
      for (int k = 1; k < size; k++) {
        int next = in.getByte(i + k);
        if ((next & 0xC0) != 0x80) return "bytes that are not UTF-8";
        codePoint = (codePoint << 6) | (next & 0x3F);
      }
      if ((size == 3 && codePoint < 0x800) || (size == 4 && codePoint < 0x10000)) return "overlong UTF-8";
      if (codePoint >= 0xD800 && codePoint <= 0xDFFF) return "a surrogate";
      if (codePoint > 0x10FFFF) return "a code point above U+10FFFF";
      if (refuseControlCharacters) {
        if (codePoint < 0xA0) return "a control character";
        if ((codePoint & 0xFFFE) == 0xFFFE || (codePoint >= 0xFDD0 && codePoint <= 0xFDEF)) return "a non-character";
      }
      i += size;
    }
    return null;
  }

  /**
   * Whether these bytes are well-formed UTF-8 by Unicode, which allows U+0000 and everything else that MQTT's strings
   * forbid.
   */
  static boolean wellFormed(ByteBuf in, int from, int length) {
    int end = from + length;
    int i = from;
    while (i < end) {
      // Of well-formed text, violation() only rejects U+0000, so it is called for the parts between those.
      int zero = in.indexOf(i, end, (byte) 0);
      int to = zero < 0 ? end : zero;
      if (violation(in, i, to - i, false) != null) return false;
      i = to + 1;
    }
    return true;
  }

  private static boolean isPlain(long word, boolean refuseControlCharacters) {
    long refused = refuseControlCharacters ? (word - SPACES) | (word + ONES) : word - ONES;
    return ((word | refused) & TOP) == 0;
  }
}
