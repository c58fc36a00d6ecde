package dunlin.runtime.metrics;

import dunlin.runtime.EventLine;
import java.rmi.server.RemoteServer;
import java.rmi.server.ServerNotActiveException;
import java.security.Principal;
import java.util.List;
import java.util.stream.Collectors;
import javax.security.auth.Subject;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Writes to the log {@code dunlin.audit} each operation that is called by JMX, also one that only reads, since some show payloads. */
final class JmxAudit {
  /*
   * Owner: the thread that calls the operation, which knows who has asked for it.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");

  private JmxAudit() {}

  /**
   * An operation that has ended.
   *
   * @param arguments names with their values as {@link dunlin.runtime.LogText#quoted}, without secrets and payloads
   * @param outcome {@code done}, or the class of the failure
   */
  static void called(String bean, String operation, List<String> arguments, String outcome) {
    EventLine.of(events, Level.INFO, "jmx-operation")
        .text("who", who())
        .text("address", address())
        .text("bean", bean)
        .text("operation", operation)
        .parts("arguments", arguments)
        .word("outcome", outcome)
        .write();
  }

  /** The names that the JMX agent has authenticated; empty without authentication, and for a process that has attached itself. */
  private static String who() {
    Subject subject = Subject.current();
    return subject == null ? "" : subject.getPrincipals().stream().map(Principal::getName).sorted().collect(Collectors.joining(","));
  }

  /** The client's address; empty for this process. */
  private static String address() {
    try {
      return RemoteServer.getClientHost();
    } catch (ServerNotActiveException _) {
      return "";
    }
  }
}
