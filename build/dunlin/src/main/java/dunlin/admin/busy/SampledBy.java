package dunlin.admin.busy;

import dunlin.transport.trace.MessageSample.Message;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What published messages are counted by. */
public enum SampledBy {
  TOPIC,
  /** Client identifier of the publisher. */
  CLIENT;

  /** The names of all, as the admin API spells them. */
  public static final List<String> LABELS = Arrays.stream(values()).map(SampledBy::label).toList();

  /** As the admin API spells it: {@code topic}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  String of(Message message) {
    return switch (this) {
      case TOPIC -> message.topic();
      case CLIENT -> message.publisher();
    };
  }

  /** @throws IllegalArgumentException when there is none of this label */
  public static SampledBy of(String label) {
    return Arrays.stream(values())
        .filter(each -> each.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("messages are counted by one of " + LABELS));
  }
}
