package dunlin.admin;

import dunlin.admin.AdminEntry.Holder;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Method;
import dunlin.admin.api.Parameter;
import dunlin.admin.api.Parameter.Place;
import dunlin.admin.api.Role;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import dunlin.runtime.LogText;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Writes to the log {@code dunlin.audit} what was asked of the admin API: all that changes something or needs more than the role of a viewer, such as reading payloads, with who has
 * asked and what became of it, and who was not let in. Never with payloads, passwords or rules.
 */
final class AdminAudit {
  /*
   * Owner: any thread.
   * Bounds: a line for each request of those who were let in, of whom eight at a time are served; LINES_A_SECOND for those who were not, since these need no credentials.
   * Each parameter is truncated by itself, and an endpoint has a few, so that none is missing because another is long.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int LINES_A_SECOND = 5;

  private final LineLimit refusedLines;

  AdminAudit(LongSupplier nanoTime) {
    refusedLines = new LineLimit(LINES_A_SECOND, nanoTime);
  }

  /**
   * A request of a known holder for a known endpoint.
   *
   * @param given what it says, as far as it was read
   */
  void asked(Holder holder, Door door, Endpoint endpoint, Map<Place, Map<String, String>> given, int status) {
    if (endpoint.method() == Method.GET && endpoint.role() == Role.VIEWER) return;
    EventLine.of(events, Level.INFO, "api-request")
        .text("who", holder.name())
        .word("role", holder.role().label())
        .text("address", door.client().getHostAddress())
        .word("request", endpoint.operationId())
        .parts("parameters", parameters(endpoint, given))
        .number("status", status)
        .write();
  }

  /** In the order of the endpoint's parameters: what is in the path comes first. */
  private static List<String> parameters(Endpoint endpoint, Map<Place, Map<String, String>> given) {
    return endpoint.parameters().stream()
        .filter(each -> given.getOrDefault(each.place(), Map.of()).containsKey(each.name()))
        .map(each -> each.name() + '=' + (isShown(each) ? LogText.quoted(given.getOrDefault(each.place(), Map.of()).getOrDefault(each.name(), "")) : "***"))
        .toList();
  }

  /** A text that is longer than any MQTT string is a payload. */
  private static boolean isShown(Parameter parameter) {
    return switch (parameter.kind()) {
      case SECRET, LINES -> false;
      case TEXT -> parameter.max() <= Parameter.TEXT_MAX;
      case INTEGER, FLAG -> true;
    };
  }

  /** A request without valid credentials. */
  void notLetIn(Door door, int status) {
    if (!refusedLines.admits()) return;
    EventLine.of(events, Level.INFO, "api-refused")
        .text("address", door.client().getHostAddress())
        .number("status", status)
        .number("untold", refusedLines.leftOut())
        .write();
  }
}
