package dunlin.inbox.remote;

import dunlin.inbox.OtherUserException;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.rows.SessionFields;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.util.concurrent.CompletionException;

/** How a call fails on the other side of a link: by the kinds that frontends tell apart. Any other is a {@link StoreException} with its message. */
final class CallFailure {
  private static final int STALE = 1;
  private static final int QUOTA = 2;
  private static final int OTHER_USER = 3;
  private static final int UNKNOWN = 4;
  private static final int STORE = 5;
  private static final int MESSAGE_MAX = 1_000;

  private CallFailure() {}

  static void write(FieldWriter out, Throwable failure) {
    switch (failure) {
      case CompletionException wrapped when wrapped.getCause() != null -> write(out, wrapped.getCause());
      case StaleSessionException stale -> {
        out.octet(STALE);
        SessionFields.writeSession(out, stale.session());
      }
      case QuotaExceededException quota -> {
        out.octet(QUOTA);
        out.octet(quota.kind().code());
        out.text(quota.what());
        out.number(quota.limit());
      }
      case OtherUserException other -> {
        out.octet(OTHER_USER);
        out.text(other.clientId());
      }
      case OutcomeUnknownException unknown -> {
        out.octet(UNKNOWN);
        out.text(message(unknown));
      }
      case StoreException store -> {
        out.octet(STORE);
        out.text(message(store));
      }
      default -> {
        out.octet(STORE);
        out.text(failure.getMessage() == null ? failure.getClass().getSimpleName() : message(failure));
      }
    }
  }

  private static String message(Throwable failure) {
    String message = String.valueOf(failure.getMessage());
    return message.length() <= MESSAGE_MAX ? message : message.substring(0, MESSAGE_MAX);
  }

  static RuntimeException read(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case STALE -> new StaleSessionException(SessionFields.readSession(in));
      case QUOTA -> {
        int code = in.octet();
        var of = QuotaExceededException.Kind.of(code).orElseThrow(() -> new IllegalStateException("kind " + code + " of a quota"));
        yield new QuotaExceededException(of, in.text(), in.number());
      }
      case OTHER_USER -> new OtherUserException(in.text());
      case UNKNOWN -> {
        String message = in.text();
        yield new OutcomeUnknownException(message, new StoreException("the session tier says so"));
      }
      case STORE -> new StoreException(in.text());
      default -> throw new IllegalStateException("kind " + kind + " of a failure");
    };
  }
}
