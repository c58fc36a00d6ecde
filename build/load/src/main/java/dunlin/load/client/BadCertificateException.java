package dunlin.load.client;

import org.jspecify.annotations.Nullable;

/** A file with certificates or a key cannot be used. */
public final class BadCertificateException extends RuntimeException {
  private static final long serialVersionUID = 1;

  BadCertificateException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
