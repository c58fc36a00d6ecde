package dunlin.broker.codec;

import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.HexFormat;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/** Packets as text, for comparison: records compare arrays by identity, but tests must compare the content. */
final class Described {
  private Described() {}

  static String of(@Nullable Object value) {
    return switch (value) {
      case null -> "null";
      case byte[] bytes -> HexFormat.of().formatHex(bytes);
      case Publish publish -> publish.toString();
      case Will will ->
          "Will[" + will.topic() + ", " + of(will.payload()) + ", " + will.qos() + ", " + will.retain() + ", "
              + will.delaySeconds() + ", " + Prop.canonical(Prop.parse(will.properties())) + ']';
      case Record record -> ofRecord(record);
      case Collection<?> values -> {
        var joined = new StringJoiner(", ", "[", "]");
        for (Object element : values) joined.add(of(element));
        yield joined.toString();
      }
      case String text -> '"' + text + '"';
      default -> value.toString();
    };
  }

  private static String ofRecord(Record record) {
    var joined = new StringJoiner(", ", record.getClass().getSimpleName() + "[", "]");
    for (RecordComponent component : record.getClass().getRecordComponents()) {
      try {
        joined.add(component.getName() + "=" + of(component.getAccessor().invoke(record)));
      } catch (ReflectiveOperationException e) {
        throw new LinkageError(e.getMessage(), e);
      }
    }
    return joined.toString();
  }
}
