package dunlin.admin.explain;

import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What a question to a bean, maybe of another node, has come to.
 *
 * @param answer empty when there is none
 * @param why there is none; else empty
 */
record Tried<T>(Optional<T> answer, String why) {
  static <T> Tried<T> of(Supplier<T> question) {
    try {
      return new Tried<>(Optional.of(question.get()), "");
    } catch (UncheckedIOException | IllegalStateException silent) {
      return failed(String.valueOf(silent.getMessage()));
    }
  }

  static <T> Tried<T> failed(String why) {
    return new Tried<>(Optional.empty(), why);
  }
}
