package dunlin.runtime;

import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Parses, formats and checks values of one setting. Parsing and checking throw IllegalArgumentException.
 *
 * @param reader parses a source's value
 * @param writer formats a value so that the reader accepts it
 * @param bounds rejects values out of bounds
 */
record SettingValue<T>(Function<RawSetting, T> reader, Function<T, String> writer, Consumer<T> bounds) {

  static <T> SettingValue<T> of(Function<String, T> reader, Function<T, String> writer) {
    return new SettingValue<>(raw -> reader.apply(raw.text().strip()), writer, _ -> {});
  }

  static <T extends Comparable<T>> SettingValue<T> bounded(
      Function<String, T> reader, Function<T, String> writer, T min, T max) {
    if (min.compareTo(max) > 0) throw new IllegalArgumentException("no value between " + min + " and " + max);
    return new SettingValue<>(
        raw -> reader.apply(raw.text().strip()),
        writer,
        value -> {
          if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new IllegalArgumentException(value + " is not between " + min + " and " + max);
          }
        });
  }

  T read(RawSetting raw) {
    return reader.apply(raw);
  }

  String write(T value) {
    return writer.apply(value);
  }

  void check(T value) {
    bounds.accept(value);
  }
}
