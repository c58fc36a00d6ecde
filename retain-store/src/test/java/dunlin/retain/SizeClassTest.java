package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.retain.index.SizeClass;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class SizeClassTest {
  @Test
  void isExactUpToSixteenAndRoundsUpByLessThanAnEighth() {
    for (int bytes = 0; bytes < 100_000; bytes++) check(bytes);
    var random = new Random(1);
    for (int i = 0; i < 100_000; i++) check(random.nextInt(Integer.MAX_VALUE));
    check(Integer.MAX_VALUE);
  }

  @Test
  void noneHasNoBytes() {
    assertThat(SizeClass.bytes(SizeClass.NONE)).isZero();
  }

  private static void check(int bytes) {
    long counted = SizeClass.bytes(Byte.toUnsignedInt(SizeClass.of(bytes)));
    if (bytes <= 16) assertThat(counted).isEqualTo(bytes);
    else assertThat(counted).as("%d bytes", bytes).isBetween((long) bytes, bytes + bytes / 8L);
  }
}
