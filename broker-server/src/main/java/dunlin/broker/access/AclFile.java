package dunlin.broker.access;

import dunlin.model.QoS;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A file of rules: one in each line, and the groups of users that they name.
 *
 * <pre>
 *   group operators alice bob
 *   deny  everyone         read     plant/secret/#
 *   allow group operators  all      plant/#
 *   allow everyone         publish  devices/%c/up  qos=1 retain=no
 * </pre>
 */
public final class AclFile {
  /*
   * Owner: stateless.
   * Bounds: SIZE_MAX bytes, RULES_MAX rules, LEVELS_MAX levels of a pattern. Of one client, whose rules stay with its connection:
   * CLIENT_RULES_MAX rules with CLIENT_LEVELS_MAX levels in all. Of a role ROLE_RULES_MAX rules with ROLE_LEVELS_MAX levels.
   * Failure: whatever is wrong makes the whole file invalid; the message names line and column. So is a file without a
   * rule: it is more likely damaged than meant.
   */
  private static final int SIZE_MAX = 16 * 1_024 * 1_024;
  private static final int RULES_MAX = 100_000;
  private static final int CLIENT_RULES_MAX = 64;
  private static final int CLIENT_LEVELS_MAX = 512;
  private static final int ROLE_RULES_MAX = 256;
  private static final int ROLE_LEVELS_MAX = 2_048;

  private final String name;
  private final RuleSet rules = new RuleSet();
  private final Set<String> groups = new HashSet<>();

  /** Where groups are named in rules, for the first of each. */
  private final Map<String, int[]> namedGroups = new HashMap<>();

  /** A file of rules is invalid. The message says where, with line and column. */
  public static final class MalformedException extends RuntimeException {
    MalformedException(int line, int column, String what) {
      super("line %d, column %d: %s".formatted(line, column, what));
    }
  }

  private AclFile(String name) {
    this.name = name;
  }

  /**
   * Reads a file.
   *
   * @throws MalformedException naming line and column
   * @throws IOException if it cannot be read
   */
  public static RuleSet read(Path file) throws IOException {
    if (Files.size(file) > SIZE_MAX) throw new MalformedException(1, 1, "the file is larger than " + SIZE_MAX + " bytes");
    return parse(String.valueOf(file.getFileName()), Files.readAllBytes(file));
  }

  /**
   * Reads rules of one client, each without whom it is about: {@code allow publish devices/%c/up qos=1}.
   *
   * @param name for the sources of the rules
   * @throws MalformedException whose line is the place of the rule, from 1
   */
  public static List<AccessRule> ofClient(String name, List<String> texts) {
    return withoutWho(name, texts, CLIENT_RULES_MAX, CLIENT_LEVELS_MAX);
  }

  /**
   * Reads rules of a role, which look like those of one client.
   *
   * @throws MalformedException whose line is the place of the rule, from 1
   */
  public static List<AccessRule> ofRole(String name, List<String> texts) {
    return withoutWho("role " + name, texts, ROLE_RULES_MAX, ROLE_LEVELS_MAX);
  }

  private static List<AccessRule> withoutWho(String name, List<String> texts, int rulesMax, int levelsMax) {
    if (texts.size() > rulesMax) throw new MalformedException(rulesMax + 1, 1, "more than " + rulesMax + " rules");
    List<AccessRule> rules = new ArrayList<>(texts.size());
    int levels = 0;
    for (String text : texts) {
      Words words = new Words(rules.size() + 1, text);
      words.expect("allow or deny");
      if (!words.word.equals("allow") && !words.word.equals("deny")) throw words.wrong("expected allow or deny");
      AccessRule rule = rule(name, words, words.word.equals("allow"));
      levels += rule.topics().levels().size();
      if (levels > levelsMax) throw words.wrong("more than " + levelsMax + " levels in all rules");
      rules.add(rule);
    }
    return rules;
  }

  /** @param name of the file, for the sources of its rules */
  static RuleSet parse(String name, byte[] bytes) {
    AclFile file = new AclFile(name);
    String[] lines = text(bytes).split("\n", -1);
    for (int i = 0; i < lines.length; i++) file.line(i + 1, lines[i]);
    file.namedGroups.forEach(
        (group, at) -> {
          if (!file.groups.contains(group)) throw new MalformedException(at[0], at[1], "there is no line \"group " + group + " ...\"");
        });
    if (file.rules.size() == 0) throw new MalformedException(1, 1, "there is no rule; \"deny everyone all #\" denies everything");
    return file.rules;
  }

  private static String text(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(bytes.length);
    CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(in, out, true);
    String text = out.flip().toString();
    if (!result.isError()) return text;
    int line = 1 + (int) text.chars().filter(c -> c == '\n').count();
    throw new MalformedException(line, text.length() - text.lastIndexOf('\n'), "not UTF-8");
  }

  private void line(int number, String line) {
    Words words = new Words(number, line.endsWith("\r") ? line.substring(0, line.length() - 1) : line);
    if (!words.next() || words.isComment()) return;
    switch (words.word) {
      case "group" -> group(words);
      case "allow" -> rule(words, true);
      case "deny" -> rule(words, false);
      default -> throw words.wrong("expected allow, deny or group");
    }
  }

  private void group(Words words) {
    String group = words.name("the name of the group");
    groups.add(group);
    while (words.next()) rules.addMember(group, words.checkedName());
  }

  private void rule(Words words, boolean allows) {
    if (rules.size() == RULES_MAX) throw words.wrong("more than " + RULES_MAX + " rules");
    rules.add(who(words), rule(name, words, allows));
  }

  /** What stands behind whom a rule is about. */
  private static AccessRule rule(String source, Words words, boolean allows) {
    words.expect("what the rule is about: publish, subscribe, receive, read or all");
    EnumSet<AccessAction> actions = actions(words);
    words.expect("a topic pattern");
    TopicPattern topics = topics(words);
    Conditions conditions = new Conditions(actions);
    while (words.next()) conditions.read(words);
    return new AccessRule(source + ':' + words.number, allows, actions, topics, conditions.qosMax, conditions.retain, conditions.share);
  }

  private RuleSet.Who who(Words words) {
    words.expect("whom the rule is about: everyone, anonymous, user NAME or group NAME");
    return switch (words.word) {
      case "everyone" -> new RuleSet.Who.Everyone();
      case "anonymous" -> new RuleSet.Who.Anonymous();
      case "user" -> new RuleSet.Who.User(words.name("the name of the user"));
      case "group" -> {
        String group = words.name("the name of the group");
        namedGroups.putIfAbsent(group, new int[] {words.number, words.column()});
        yield new RuleSet.Who.Group(group);
      }
      default -> throw words.wrong("expected everyone, anonymous, user NAME or group NAME");
    };
  }

  private static EnumSet<AccessAction> actions(Words words) {
    EnumSet<AccessAction> actions = EnumSet.noneOf(AccessAction.class);
    int offset = 0;
    for (String each : words.word.split(",", -1)) {
      switch (each) {
        case "publish" -> actions.add(AccessAction.PUBLISH);
        case "subscribe" -> actions.add(AccessAction.SUBSCRIBE);
        case "receive" -> actions.add(AccessAction.RECEIVE);
        case "read" -> actions.addAll(EnumSet.of(AccessAction.SUBSCRIBE, AccessAction.RECEIVE));
        case "all" -> actions.addAll(EnumSet.allOf(AccessAction.class));
        default -> throw words.wrong(offset, "expected publish, subscribe, receive, read or all, or several with commas between them");
      }
      offset += each.length() + 1;
    }
    return actions;
  }

  private static TopicPattern topics(Words words) {
    try {
      return TopicPattern.parse(words.word);
    } catch (TopicPattern.InvalidException e) {
      throw words.wrong(e.at, String.valueOf(e.getMessage()));
    }
  }

  /** What stands behind the topic pattern. */
  private static final class Conditions {
    private final Set<AccessAction> actions;
    private final Set<String> given = new HashSet<>(4);
    private QoS qosMax = QoS.EXACTLY_ONCE;
    private @Nullable Boolean retain;
    private @Nullable String share;

    Conditions(Set<AccessAction> actions) {
      this.actions = actions;
    }

    void read(Words words) {
      int equals = words.word.indexOf('=');
      String key = equals < 0 ? words.word : words.word.substring(0, equals);
      String value = words.word.substring(equals + 1);
      if (equals < 0 || !given.add(key)) throw words.wrong("expected one of qos=, retain= and share=, each at most once");
      switch (key) {
        case "qos" ->
            qosMax =
                switch (value) {
                  case "0" -> QoS.AT_MOST_ONCE;
                  case "1" -> QoS.AT_LEAST_ONCE;
                  case "2" -> QoS.EXACTLY_ONCE;
                  default -> throw words.wrong(equals + 1, "expected qos=0, qos=1 or qos=2");
                };
        case "retain" -> {
          if (actions.equals(EnumSet.of(AccessAction.SUBSCRIBE))) throw words.wrong("retain= is about publish and receive only");
          retain =
              switch (value) {
                case "yes" -> true;
                case "no" -> false;
                default -> throw words.wrong(equals + 1, "expected retain=yes or retain=no");
              };
        }
        case "share" -> {
          if (!actions.contains(AccessAction.SUBSCRIBE)) throw words.wrong("share= is about subscribe only");
          if (value.isEmpty()) throw words.wrong(equals + 1, "expected share=GROUP, share=* for any group, or share=none");
          share = value.equals("none") ? AccessRule.NO_GROUP : value;
        }
        default -> throw words.wrong("expected qos=, retain= or share=");
      }
    }
  }

  /** The words of one line: between blanks, or in quotation marks, in which \" and \\ stand for " and \. */
  private static final class Words {
    private final int number;
    private final String line;
    private String word = "";
    private int at;
    private int start;
    private boolean quoted;

    Words(int number, String line) {
      this.number = number;
      this.line = line;
    }

    boolean isComment() {
      return !quoted && word.startsWith("#");
    }

    /** Where the present word begins, from 1. */
    int column() {
      return start + 1;
    }

    boolean next() {
      while (at < line.length() && isBlank(line.charAt(at))) at++;
      start = at;
      if (at == line.length()) return false;
      quoted = line.charAt(at) == '"';
      word = quoted ? quoted() : plain();
      return true;
    }

    private static boolean isBlank(char c) {
      return c == ' ' || c == '\t';
    }

    private String plain() {
      while (at < line.length() && !isBlank(line.charAt(at))) at++;
      String text = line.substring(start, at);
      for (int i = 0; i < text.length(); i++) {
        if (Character.isISOControl(text.charAt(i))) throw wrong(i, "a control character");
        if (text.charAt(i) == '"') throw wrong(i, "a quotation mark inside a word");
      }
      return text;
    }

    private String quoted() {
      var text = new StringBuilder();
      for (at++; at < line.length(); at++) {
        char c = line.charAt(at);
        if (Character.isISOControl(c)) throw wrong(at - start, "a control character");
        if (c == '"') {
          at++;
          if (at < line.length() && !isBlank(line.charAt(at))) throw wrong(at - start, "a blank must follow the quotation mark");
          return text.toString();
        }
        if (c == '\\') {
          at++;
          boolean known = at < line.length() && (line.charAt(at) == '"' || line.charAt(at) == '\\');
          if (!known) throw wrong(at - 1 - start, "in quotation marks, \\ stands before \" or \\ only");
          c = line.charAt(at);
        }
        text.append(c);
      }
      throw wrong("the quotation mark is not closed");
    }

    /** Takes the next word, which must be there. */
    void expect(String what) {
      if (!next()) throw wrong("expected " + what);
    }

    String name(String what) {
      expect(what);
      return checkedName();
    }

    String checkedName() {
      if (word.isEmpty()) throw wrong("a name is not empty");
      return word;
    }

    MalformedException wrong(String what) {
      return wrong(0, what);
    }

    MalformedException wrong(int offset, String what) {
      return new MalformedException(number, start + offset + 1, what);
    }
  }
}
