package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PathHashTest {
  private final PathHash hash = new PathHash(0x9E3779B97F4A7C15L, 0xD1B54A32D192ED03L);

  @Test
  void dependsOnTheLevelAndNotOnItsOffset() {
    var random = new Random(1);
    for (int length = 0; length < 40; length++) {
      byte[] level = new byte[length];
      random.nextBytes(level);
      long alone = hash.level(7, level, 0, length);
      for (int before = 0; before < 10; before++) {
        for (int behind = 0; behind < 10; behind++) {
          byte[] text = new byte[before + length + behind];
          random.nextBytes(text);
          System.arraycopy(level, 0, text, before, length);
          assertThat(hash.level(7, text, before, before + length)).isEqualTo(alone);
        }
      }
    }
  }

  @Test
  void findsTheEndOfEachLevel() {
    byte[] text = "a//twelve bytes/x/and something long without an end".getBytes(StandardCharsets.UTF_8);
    for (int end = 0; end <= text.length; end++) {
      for (int from = 0; from <= end; from++) {
        int expected = from;
        while (expected < end && text[expected] != '/') expected++;
        assertThat(PathHash.levelEnd(text, from, end)).as("from %d to %d", from, end).isEqualTo(expected);
      }
    }
  }

  @Test
  void distinguishesWildcardsLevelsAndDepths() {
    byte[] text = "+#".getBytes(StandardCharsets.UTF_8);
    long root = hash.root(0);

    assertThat(hash.filterLevel(root, text, 0, 1)).isEqualTo(hash.plus(root));
    assertThat(hash.filterLevel(root, text, 1, 2)).isEqualTo(hash.hash(root));
    assertThat(hash.plus(root)).isNotEqualTo(hash.hash(root));
    assertThat(hash.level(root, text, 0, 1)).isNotEqualTo(hash.plus(root));
    assertThat(hash.level(root, text, 0, 0)).isNotEqualTo(root);
    long path = root;
    for (int depth = 1; depth <= PathHash.DEPTH_MAX + 1; depth++) {
      assertThat(path & 0xFF).isEqualTo(depth);
      path = hash.level(path, text, 0, 0);
    }
    assertThat(path & 0xFF).as("too deep").isZero();
  }
}
