package dunlin;

import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import dunlin.broker.access.Judgement;
import dunlin.broker.access.Policy;
import dunlin.broker.access.Subject;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code bin/dunlin check-acl}: says which rule of a file decides about one thing that a client wants to do. */
final class CheckAcl {
  private static final int DENIED = 1;
  private static final int USAGE = 2;
  private static final String USAGE_TEXT =
      "Usage: bin/dunlin check-acl FILE [-u USER] [-c CLIENT_ID] [-t TENANT] [-q QOS] [-r] [-a NAME=VALUE] publish|subscribe|receive TOPIC;"
          + " -r is the RETAIN flag, -a an attribute such as cert.cn; exits with 0 when it is allowed, with 1 when it is denied";

  private final Path file;
  private final List<String> lines;
  private final Policy policy;
  private final PrintStream out;

  private CheckAcl(Path file, Subject client, PrintStream out) throws IOException {
    this.file = file;
    this.policy = AclFile.read(file).policyOf(client);
    this.lines = Files.readAllLines(file);
    this.out = out;
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(args, out, err));
  }

  /** Answers the exit code. */
  static int run(String[] args, PrintStream out, PrintStream err) {
    Question question = Question.read(args);
    if (question == null) {
      err.println(USAGE_TEXT);
      return USAGE;
    }
    try {
      return new CheckAcl(question.file, question.client(), out).answer(question) ? 0 : DENIED;
    } catch (NoSuchFileException e) {
      err.println("dunlin check-acl: there is no such file: " + e.getMessage());
    } catch (IOException | AclFile.MalformedException | IllegalArgumentException e) {
      err.println("dunlin check-acl: " + question.file + ": " + e.getMessage());
    }
    return USAGE;
  }

  private boolean answer(Question question) {
    Judgement judged = Judgement.of(policy, question.action, question.topic, question.qos, question.retain, this::where);
    out.println(judged.reason());
    judged.remarks().forEach(out::println);
    return judged.allowed();
  }

  private String where(AccessRule rule) {
    int line = Integer.parseInt(rule.source().substring(rule.source().lastIndexOf(':') + 1));
    return file + ":" + line + ": " + lines.get(line - 1);
  }

  /** The words of the command. */
  private static final class Question {
    private final Path file;
    private final Map<String, String> attributes = new HashMap<>();
    private String user = "";
    private String clientId = "";
    private String tenant = Publisher.DEFAULT_TENANT;
    private QoS qos = QoS.AT_MOST_ONCE;
    private boolean retain;
    private AccessAction action = AccessAction.PUBLISH;
    private String topic = "";

    private Question(Path file) {
      this.file = file;
    }

    Subject client() {
      return new Subject(tenant, clientId, user, attributes, true);
    }

    static @Nullable Question read(String[] args) {
      if (args.length < 3 || args[0].startsWith("-")) return null;
      Question question = new Question(Path.of(args[0]));
      int end = args.length - 2;
      for (int i = 1; i < end; i++) {
        if (args[i].equals("-r")) {
          question.retain = true;
        } else if (i + 1 == end || !question.option(args[i], args[i + 1])) {
          return null;
        } else {
          i++;
        }
      }
      question.topic = args[args.length - 1];
      if (!AccessAction.LABELS.contains(args[end])) return null;
      question.action = AccessAction.of(args[end]);
      return question;
    }

    private boolean option(String name, String value) {
      switch (name) {
        case "-u" -> user = value;
        case "-c" -> clientId = value;
        case "-t" -> tenant = value;
        case "-a" -> {
          int equals = value.indexOf('=');
          if (equals < 1) return false;
          attributes.put(value.substring(0, equals), value.substring(equals + 1));
        }
        case "-q" -> {
          if (!value.matches("[012]")) return false;
          qos = QoS.of(Integer.parseInt(value));
        }
        default -> {
          return false;
        }
      }
      return true;
    }
  }
}
