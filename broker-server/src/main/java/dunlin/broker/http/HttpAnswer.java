package dunlin.broker.http;

import com.nimbusds.jose.util.JSONObjectUtils;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What is known of a client after the service was asked. */
public sealed interface HttpAnswer {
  /**
   * The client may connect.
   *
   * @param user empty if the answer does not name one
   * @param tenant empty for the default
   * @param life how long it may stay; empty for as long as it likes
   * @param remember how long the answer may be used again at most; empty if it does not say
   * @param attributes texts that access rules may name
   * @param rules its access rules, in their order
   */
  record Allowed(String user, String tenant, Optional<Duration> life, Optional<Duration> remember, Map<String, String> attributes, List<AccessRule> rules)
      implements HttpAnswer {
    public Allowed {
      attributes = Map.copyOf(attributes);
      rules = List.copyOf(rules);
    }
  }

  /** @param reason for the client and the log; empty if the service gives none */
  record Denied(String reason) implements HttpAnswer {}

  /** There is no answer. */
  record Missing(Why why, String explanation) implements HttpAnswer {}

  /** Why there is no answer; a tag of the metrics. */
  enum Why {
    /** Too many clients were waiting, or this one has waited too long. */
    BUSY,
    /** The service has failed lately, and is not asked. */
    PAUSED,
    /** The service was not reached, or its answer was not 200, too large or too late. */
    FAILED,
    /** The answer could not be understood. */
    MALFORMED
  }

  /** Reads answers of the service: a JSON object whose member {@code result} is {@code allow} or {@code deny}. */
  final class Reader {
    /*
     * Owner: stateless.
     * Bounds: those of ServiceClient for the bytes, of AclFile for the rules, ATTRIBUTES_MAX attributes of TEXT_MAX characters, since all of it stays with
     * the connection.
     * Failure: MalformedException. Nothing is left out because it cannot be read: it might be a rule that denies. Members that are not known are ignored.
     */
    private static final int ATTRIBUTES_MAX = 16;
    private static final int TEXT_MAX = 256;
    private static final long SECONDS_MAX = 10L * 365 * 24 * 3_600;
    private static final Pattern ATTRIBUTE = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    private final Map<String, Object> members;

    /** An answer cannot be understood. */
    static final class MalformedException extends RuntimeException {
      MalformedException(String what) {
        super(what, null, false, false);
      }
    }

    private Reader(Map<String, Object> members) {
      this.members = members;
    }

    /** @throws MalformedException if it is not such an answer */
    static HttpAnswer read(byte[] body) {
      return new Reader(parse(body)).read();
    }

    private static Map<String, Object> parse(byte[] body) {
      try {
        Map<String, Object> read = JSONObjectUtils.parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        if (read != null) return read;
      } catch (CharacterCodingException | ParseException _) { // it quotes the answer
      }
      throw new MalformedException("it is no JSON object");
    }

    private HttpAnswer read() {
      return switch (text("result", "").orElse("")) {
        case "allow" -> new Allowed(text("user", "").orElse(""), text("tenant", "").orElse(""), seconds("seconds"), seconds("cacheSeconds"), attributes(), rules());
        case "deny" -> new Denied(text("reason", "").orElse(""));
        default -> throw new MalformedException("result is neither allow nor deny");
      };
    }

    private Optional<String> text(String name, String of) {
      return Optional.ofNullable(members.get(name)).map(value -> textOf(value, of + name));
    }

    private static String textOf(@Nullable Object value, String name) {
      if (value instanceof String text && text.length() <= TEXT_MAX) return text;
      throw new MalformedException(name + " is no text of at most " + TEXT_MAX + " characters");
    }

    private Optional<Duration> seconds(String name) {
      Object value = members.get(name);
      if (value == null) return Optional.empty();
      if (value instanceof Number number && number.doubleValue() >= 0 && number.doubleValue() <= SECONDS_MAX) return Optional.of(Duration.ofSeconds(number.longValue()));
      throw new MalformedException(name + " is no number from 0 to " + SECONDS_MAX);
    }

    private Map<String, String> attributes() {
      Object value = members.get("attributes");
      if (value == null) return Map.of();
      if (!(value instanceof Map<?, ?> given) || given.size() > ATTRIBUTES_MAX) throw new MalformedException("attributes is no object of at most " + ATTRIBUTES_MAX + " members");
      Map<String, String> attributes = HashMap.newHashMap(given.size());
      given.forEach(
          (name, text) -> {
            if (!ATTRIBUTE.matcher(String.valueOf(name)).matches()) throw new MalformedException("an attribute has 1 to 64 letters, digits, dashes and underscores");
            attributes.put(String.valueOf(name), textOf(text, "an attribute"));
          });
      return attributes;
    }

    private List<AccessRule> rules() {
      Object value = members.get("acl");
      if (value == null) return List.of();
      if (!(value instanceof List<?> list)) throw new MalformedException("acl is no list of texts");
      try {
        return AclFile.ofClient("http", list.stream().map(Reader::ruleOf).toList());
      } catch (AclFile.MalformedException e) {
        throw new MalformedException("acl: " + e.getMessage());
      }
    }

    private static String ruleOf(@Nullable Object value) {
      if (value instanceof String text) return text;
      throw new MalformedException("acl is no list of texts");
    }
  }
}
