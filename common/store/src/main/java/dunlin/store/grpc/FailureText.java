package dunlin.store.grpc;

import io.grpc.Status;
import java.net.ConnectException;
import java.security.GeneralSecurityException;
import java.util.Locale;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Says in one line why a call or a TLS handshake has failed. */
public final class FailureText {
  private FailureText() {}

  /** gRPC adds the pipeline of the channel, and leaves the cause out, which with TLS says what is wrong with a certificate. */
  public static String of(Status status) {
    return of(status.getDescription(), status.getCause());
  }

  static String of(Throwable failure) {
    return of(failure.getMessage(), failure);
  }

  private static String of(@Nullable String description, @Nullable Throwable cause) {
    String described = firstLine(description);
    boolean certificate = false;
    Throwable root = cause;
    while (root != null) {
      certificate |= root instanceof GeneralSecurityException;
      if (root.getCause() == null) break;
      root = root.getCause();
    }
    String rest = root == null ? "" : firstLine(root.getMessage());
    if (certificate) return described + ": its certificate is not accepted here: " + rest;
    String both = rest.isEmpty() || described.equals(rest) ? described : described + ": " + rest;
    boolean alert = root instanceof SSLException && rest.toLowerCase(Locale.ROOT).contains("alert");
    return alert ? both + ": the other side has refused this node, and its log says why" : both;
  }

  /** Whether a call has failed in TLS. */
  public static boolean isTls(Status status) {
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) return true;
    }
    return false;
  }

  /**
   * Whether a call has failed since the other host has refused the connection: no process listens on that port. A host that cannot be
   * reached does not answer, and does not refuse.
   */
  public static boolean isRefusedConnection(Status status) {
    return isRefusedConnection(status.getCause());
  }

  /** The same of another failure to connect. */
  public static boolean isRefusedConnection(@Nullable Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof ConnectException && String.valueOf(cause.getMessage()).contains("Connection refused")) return true;
    }
    return false;
  }

  private static String firstLine(@Nullable String text) {
    return String.valueOf(text).lines().findFirst().orElse("");
  }
}
