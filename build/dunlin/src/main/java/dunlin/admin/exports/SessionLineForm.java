package dunlin.admin.exports;

import dunlin.admin.exports.SessionExportsMXBean.GroupMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionBegin;
import dunlin.admin.exports.SessionExportsMXBean.SessionEnd;
import dunlin.admin.exports.SessionExportsMXBean.SessionLine;
import dunlin.admin.exports.SessionExportsMXBean.SessionMessage;
import dunlin.admin.exports.SessionExportsMXBean.SessionSubscription;
import dunlin.inbox.SessionExports;
import dunlin.model.SubscriptionOptions;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the lines of exported sessions. What numbers mean is checked by {@link SessionExportsBean}. */
final class SessionLineForm {
  private static final int PACKET_ID_MAX = 65_535;
  private static final long EXPIRY_MAX = 0xFFFF_FFFFL;
  private static final long AGE_MAX = 0xFFFF_FFFFL;

  private SessionLineForm() {}

  static SessionLine read(LineObject line) {
    SessionLine read =
        new SessionLine(
            part(line, "session", SessionLineForm::begin), part(line, "message", SessionLineForm::message), part(line, "subscription", SessionLineForm::subscription),
            part(line, "end", SessionLineForm::end), part(line, "groupMessage", SessionLineForm::groupMessage));
    line.end();
    long parts = Stream.of(read.session(), read.message(), read.subscription(), read.end(), read.groupMessage()).filter(Objects::nonNull).count();
    if (parts != 1) throw new IllegalArgumentException("it has %d of session, message, subscription, end and groupMessage, instead of one".formatted(parts));
    return read;
  }

  private static <T> @Nullable T part(LineObject line, String name, Function<LineObject, T> form) {
    LineObject object = line.object(name);
    if (object == null) return null;
    T read = form.apply(object);
    object.end();
    return read;
  }

  private static SessionBegin begin(LineObject part) {
    return new SessionBegin(part.text("clientId"), part.text("user"), part.numbers("received", PACKET_ID_MAX));
  }

  private static SessionMessage message(LineObject part) {
    return new SessionMessage(
        part.text("clientId"), part.number("sequence", 0, SessionExports.SEQUENCE_MAX), part.text("topic"), (int) part.number("qos", 1, 2), part.flag("retain"),
        part.flag("released"), part.flag("sent"), part.numbers("identifiers", SubscriptionOptions.SUBSCRIPTION_IDENTIFIER_MAX), part.text("publisher"),
        part.number("ageSeconds", 0, AGE_MAX), part.text("properties"), part.text("payload"));
  }

  private static SessionSubscription subscription(LineObject part) {
    return new SessionSubscription(
        part.text("clientId"), part.text("filter"), (int) part.number("qos", 0, 2), part.flag("noLocal"), part.flag("retainAsPublished"),
        (int) part.number("retainHandling", 0, 2), (int) part.number("identifier", 0, SubscriptionOptions.SUBSCRIPTION_IDENTIFIER_MAX));
  }

  private static SessionEnd end(LineObject part) {
    return new SessionEnd(part.text("clientId"), part.number("expirySeconds", 0, EXPIRY_MAX));
  }

  private static GroupMessage groupMessage(LineObject part) {
    return new GroupMessage(
        part.text("filter"), part.text("topic"), (int) part.number("qos", 1, 2), part.flag("retain"), part.text("publisher"), part.number("ageSeconds", 0, AGE_MAX),
        part.text("properties"), part.text("payload"));
  }
}
