package dunlin.admin.operate;

/** Why a request is refused: an HTTP status and a sentence; becomes an {@code application/problem+json} (RFC 9457). */
public final class Problem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;

  public Problem(int status, String detail) {
    super(detail, null, false, false); // a client can cause any number of them
    this.status = status;
  }

  public static Problem invalid(String detail) {
    return new Problem(400, detail);
  }

  public int status() {
    return status;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }

  /** The status as RFC 9110 names it. */
  public String title() {
    return switch (status) {
      case 400 -> "Bad Request";
      case 401 -> "Unauthorized";
      case 403 -> "Forbidden";
      case 404 -> "Not Found";
      case 405 -> "Method Not Allowed";
      case 406 -> "Not Acceptable";
      case 409 -> "Conflict";
      case 413 -> "Content Too Large";
      case 415 -> "Unsupported Media Type";
      case 421 -> "Misdirected Request";
      case 429 -> "Too Many Requests";
      case 503 -> "Service Unavailable";
      default -> "Internal Server Error";
    };
  }
}
