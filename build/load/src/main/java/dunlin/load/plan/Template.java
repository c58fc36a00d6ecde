package dunlin.load.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Text with placeholders for values that differ between clients: {@code %i} is its number, {@code %c} its client identifier,
 * {@code %u} its user name; <code>%{i/10}</code>, <code>%{i%5}</code>, <code>%{i*2}</code>, <code>%{i+1}</code> and
 * <code>%{i-1}</code> are computed from its number; {@code %%} is a percent sign.
 *
 * <p>A payload has three more: {@code %s} is the message's sequence number, {@code %t} the time at which it is due, in
 * milliseconds since 1970, and {@code %h} the stamp by which it is counted.
 */
public final class Template {
  private static final Pattern VARIABLE = Pattern.compile("%(?:([iucsth%])|\\{i\\s*([-+*/%])\\s*([0-9]{1,9})})");

  private final String text;
  private final List<Part> parts = new ArrayList<>();

  /** A piece of text, or a variable, or an operation on the client's number. */
  record Part(Kind kind, String text, char operator, int operand) {}

  enum Kind {
    TEXT,
    NUMBER,
    CLIENT_ID,
    USER,
    SEQUENCE,
    TIME,
    STAMP
  }

  public Template(String text) {
    this.text = text;
    Matcher matcher = VARIABLE.matcher(text);
    int end = 0;
    while (matcher.find()) {
      if (matcher.start() > end) literal(text.substring(end, matcher.start()));
      end = matcher.end();
      String letter = matcher.group(1);
      if (letter == null) computed(matcher.group(2).charAt(0), Integer.parseInt(matcher.group(3)));
      else if (letter.equals("%")) literal("%");
      else parts.add(new Part(kind(letter), "", ' ', 0));
    }
    if (end < text.length()) literal(text.substring(end));
  }

  private void literal(String piece) {
    parts.add(new Part(Kind.TEXT, piece, ' ', 0));
  }

  private void computed(char operator, int operand) {
    if (operand == 0 && (operator == '/' || operator == '%')) throw new IllegalArgumentException("\"%s\" divides by 0".formatted(text));
    parts.add(new Part(Kind.NUMBER, "", operator, operand));
  }

  private static Kind kind(String letter) {
    return switch (letter) {
      case "i" -> Kind.NUMBER;
      case "c" -> Kind.CLIENT_ID;
      case "u" -> Kind.USER;
      case "s" -> Kind.SEQUENCE;
      case "t" -> Kind.TIME;
      default -> Kind.STAMP;
    };
  }

  List<Part> parts() {
    return parts;
  }

  boolean has(Kind kind) {
    return parts.stream().anyMatch(part -> part.kind() == kind);
  }

  /** Whether every client gets the same text. */
  public boolean isConstant() {
    return parts.stream().allMatch(part -> part.kind() == Kind.TEXT);
  }

  /** The text for one client; the placeholders of payloads are left unchanged. */
  public String fill(Who who) {
    if (parts.size() == 1 && parts.getFirst().kind() == Kind.TEXT) return parts.getFirst().text();
    var filled = new StringBuilder();
    for (Part part : parts) {
      switch (part.kind()) {
        case TEXT -> filled.append(part.text());
        case NUMBER -> filled.append(compute(part, who.number()));
        case CLIENT_ID -> filled.append(who.clientId());
        case USER -> filled.append(who.user());
        case SEQUENCE -> filled.append("%s");
        case TIME -> filled.append("%t");
        case STAMP -> filled.append("%h");
      }
    }
    return filled.toString();
  }

  static long compute(Part part, int number) {
    return switch (part.operator()) {
      case '+' -> (long) number + part.operand();
      case '-' -> (long) number - part.operand();
      case '*' -> (long) number * part.operand();
      case '/' -> number / part.operand();
      case '%' -> number % part.operand();
      default -> number;
    };
  }

  @Override
  public String toString() {
    return text;
  }
}
