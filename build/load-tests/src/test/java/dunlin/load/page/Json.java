package dunlin.load.page;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Reads JSON, as a subset of YAML. */
final class Json {
  private final @Nullable Object value;

  private Json(@Nullable Object value) {
    this.value = value;
  }

  static Json of(String text) {
    return new Json(new Load(LoadSettings.builder().setCodePointLimit(100_000_000).build()).loadFromString(text));
  }

  /** The part at a path; isMissing() when there is none. */
  Json get(String... path) {
    Object at = value;
    for (String name : path) at = at instanceof Map<?, ?> map ? map.get(name) : null;
    return new Json(at);
  }

  List<Json> list() {
    return value instanceof List<?> list ? list.stream().map(Json::new).toList() : List.of();
  }

  boolean isMissing() {
    return value == null;
  }

  long number() {
    if (value instanceof Number number) return number.longValue();
    throw new AssertionError("no number: " + value);
  }

  double fraction() {
    if (value instanceof Number number) return number.doubleValue();
    throw new AssertionError("no number: " + value);
  }

  String text() {
    return String.valueOf(value);
  }
}
