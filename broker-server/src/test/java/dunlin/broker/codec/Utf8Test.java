package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Utf8Test {
  private final ByteBuf in = Unpooled.buffer();

  /**
   * The same decision by the JDK's decoder, which replaces invalid bytes by U+FFFD, and a check of each code point.
   */
  private static boolean isSound(byte[] bytes, boolean refuseControlCharacters) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    if (!Arrays.equals(bytes, text.getBytes(StandardCharsets.UTF_8))) return false;
    for (int i = 0; i < text.length(); i = text.offsetByCodePoints(i, 1)) {
      int c = text.codePointAt(i);
      if (c == 0) return false;
      if (!refuseControlCharacters) continue;
      boolean nonCharacter = (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFF) == 0xFFFE || (c & 0xFFFF) == 0xFFFF;
      if (nonCharacter || Character.isISOControl(c)) return false;
    }
    return true;
  }

  private void check(byte[] bytes, String context) {
    in.clear().writeMedium(0).writeBytes(bytes).writeByte(0x80);
    for (boolean strict : new boolean[] {true, false}) {
      boolean sound = Utf8.violation(in, 3, bytes.length, strict) == null;
      if (sound != isSound(bytes, strict)) fail(context + (sound ? " accepted, strictly: " : " refused, strictly: ") + strict);
    }
  }

  @Test
  @Tag("pitfall-32")
  @Tag("MQTT-1.5.4-1")
  @Tag("MQTT-1.5.4-2")
  @Tag("MQTT3-1.5.3-1")
  @Tag("MQTT3-1.5.3-2")
  void everySequenceOfTwoBytesIsJudgedLikeTheJdkDoes() {
    for (int i = 0; i < 1 << 16; i++) check(new byte[] {(byte) (i >> 8), (byte) i}, Integer.toHexString(i));
  }

  @Test
  @Tag("pitfall-32")
  @Tag("MQTT-1.5.4-1")
  @Tag("MQTT3-1.5.3-1")
  void theEdgesOfLongerSequencesAreJudgedLikeTheJdkDoes() {
    int[] edges = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xB7, 0xBD, 0xBE, 0xBF, 0xC0, 0xFF};
    for (int first = 0xE0; first < 0x100; first++) {
      for (int second : edges) {
        for (int third : edges) {
          check(new byte[] {(byte) first, (byte) second, (byte) third}, "three");
          for (int fourth : edges) {
            check(new byte[] {(byte) first, (byte) second, (byte) third, (byte) fourth}, "four");
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void mixedTextIsJudgedLikeTheJdkDoes(long seed) {
    var random = new SplittableRandom(seed);
    for (int i = 0; i < 10_000; i++) {
      var text = new StringBuilder();
      for (int k = random.nextInt(40); k > 0; k--) {
        text.appendCodePoint(
            switch (random.nextInt(12)) {
              case 0 -> random.nextInt(0x80, 0x800);
              case 1 -> random.nextInt(0xE000, 0x10000);
              case 2 -> random.nextInt(0x10000, 0x110000);
              default -> random.nextInt(0x20, 0x7F);
            });
      }
      byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
      if (bytes.length > 0 && random.nextBoolean()) bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      check(bytes, "seed " + seed + ", text " + i);
    }
  }

  @Test
  void oneControlCharacterIsFoundInEveryPositionOfAWord() {
    for (int position = 0; position < 16; position++) {
      for (int c = 0; c < 0x80; c++) {
        byte[] bytes = "abcdefghijklmnop".getBytes(StandardCharsets.US_ASCII);
        bytes[position] = (byte) c;
        check(bytes, position + ": " + c);
      }
    }
  }

  @Test
  @Tag("pitfall-32")
  @Tag("MQTT-1.5.4-3")
  @Tag("MQTT3-1.5.3-3")
  void byteOrderMarkIsKept() {
    var publish =
        (Publish) Refusal.accepted(Wire.CONNECT_3_1_1, Wire.packet(0x30, "\uFEFFa\uFEFF/b"));
    assertThat(publish.topic()).isEqualTo("\uFEFFa\uFEFF/b");
  }

  @Test
  void controlCharactersAreAllowedWhenTheLimitSaysSo() {
    var lenient = new DecoderLimits(1_000, 1_000, 100, 10, 2, 0, false, 10);
    var publish = (Publish) Refusal.accepted(lenient, Wire.CONNECT_3_1_1, Wire.packet(0x30, "a\nb\u0085\uFFFE"));
    assertThat(publish.topic()).isEqualTo("a\nb\u0085\uFFFE");
    Refusal.refused(ReasonCode.MALFORMED_PACKET, Wire.CONNECT_3_1_1, Wire.packet(0x30, "a\nb"));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void levelsAreCountedAndWildcardsSeenWhereverTheyStand(long seed) {
    var random = new SplittableRandom(seed);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = new byte[1 + random.nextInt(30)];
      for (int k = 0; k < bytes.length; k++) {
        bytes[k] = (byte) (random.nextInt(3) == 0 ? '/' : random.nextInt(60) == 0 ? '#' : random.nextInt(256));
      }
      int levels = 1;
      for (byte b : bytes) if (b == '/') levels++;
      for (byte b : bytes) if (b == '+' || b == '#') levels = -1;
      in.clear().writeBytes(bytes);
      assertThat(TopicNames.levels(in, 0, bytes.length)).as("seed %d, name %d", seed, i).isEqualTo(levels);
    }
  }

  @Test
  void textOfClientsIsQuotedForLogs() {
    assertThat(MalformedPacketException.quoted("a\"b\\c\r\n\u202E")).isEqualTo("\"a\\\"b\\\\c\\u000d\\u000a\\u202e\"");
    assertThat(MalformedPacketException.quoted("x".repeat(1_000))).hasSize(69).endsWith("...\"");
  }
}
