package dunlin.admin.api;

import java.util.List;

/**
 * One thing that the API can do.
 *
 * @param command the words that {@code dunlinctl} has for it, such as {@code sessions list}
 * @param path below {@link Endpoints#PREFIX}; a segment in braces is the parameter of that name
 * @param role the least that a token must have
 * @param summary a sentence without its full stop
 * @param answer the record that is answered; of a listing, one row; of a stream, one event
 */
public record Endpoint(
    String command, Method method, String path, Role role, String summary, List<Parameter> parameters, Class<? extends Record> answer, Form form) {
  public enum Method {
    GET,
    PUT,
    POST,
    DELETE
  }

  /** How the answer comes. */
  public enum Form {
    ONE,
    /** A {@link Page} of rows. */
    LISTING,
    /** Server-sent events, one by one, until the client or the node ends the connection. */
    STREAM
  }

  public Endpoint {
    parameters = List.copyOf(parameters);
  }

  /** Its name in the OpenAPI document: {@code sessionsList}. */
  public String operationId() {
    StringBuilder id = new StringBuilder();
    for (String word : command.split("[ -]", -1)) {
      id.append(id.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
    }
    return id.toString();
  }

  /** Whether it is a listing whose pages follow one another by {@link Endpoints#CURSOR}. */
  public boolean paged() {
    return listing() && parameters.stream().anyMatch(parameter -> parameter.name().equals(Endpoints.CURSOR));
  }

  public boolean listing() {
    return form == Form.LISTING;
  }

  public boolean stream() {
    return form == Form.STREAM;
  }

  /** Whether a text in the body may be longer than any payload. */
  public boolean hasLargeBody() {
    return parameters.stream().anyMatch(parameter -> parameter.kind() == Parameter.Kind.LINES && parameter.max() > Endpoints.PAYLOAD_MAX);
  }

  /** Whether requests may have a body. */
  public boolean hasBody() {
    return method == Method.PUT || method == Method.POST;
  }

  /**
   * A page of a listing, of records.
   *
   * @param next the cursor of the next page; empty on the last one
   * @param unanswered a sentence for each node of the cluster that was asked and has not answered, so that its rows are missing
   */
  public record Page(List<?> items, String next, List<String> unanswered) {
    public Page {
      items = List.copyOf(items);
      unanswered = List.copyOf(unanswered);
    }

    /** A page for which no other node was asked. */
    public Page(List<?> items, String next) {
      this(items, next, List.of());
    }
  }
}
