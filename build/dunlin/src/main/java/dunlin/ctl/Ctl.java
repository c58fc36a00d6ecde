package dunlin.ctl;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter;
import dunlin.admin.api.Role;
import java.io.Console;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** The commands of {@code bin/dunlinctl}, which are made from the table of endpoints. */
public final class Ctl {
  /** The node has refused, with a reason. */
  static final int REFUSED = 1;

  /** The command line is wrong. */
  static final int USAGE = CommandLine.ExitCode.USAGE;

  /** No node has answered. */
  static final int UNREACHED = 3;

  /** The command doctor has found something wrong. */
  static final int UNWELL = 4;

  private static final int ROWS = 1_000;
  private static final String TOKEN = "token";
  private static final String COMPLETION = "completion";
  private static final List<String> ROLES = Arrays.stream(Role.values()).map(Role::label).toList();

  private final PrintStream out;
  private final PrintStream err;
  private final Map<String, Endpoint> endpoints = new HashMap<>();
  private final CommandLine commands;

  private Ctl(PrintStream out, PrintStream err, Path access) {
    this.out = out;
    this.err = err;
    CommandSpec root =
        CommandSpec.create()
            .name("dunlinctl")
            .mixinStandardHelpOptions(true)
            .version(Objects.requireNonNullElse(Ctl.class.getPackage().getImplementationVersion(), "of no release"));
    root.usageMessage().description("Sees and changes a running Dunlin node by its admin API.");
    root.addOption(
        OptionSpec.builder("--access")
            .type(Path.class)
            .paramLabel("FILE")
            .defaultValue(access.toString())
            .scopeType(CommandLine.ScopeType.INHERIT)
            .description("The file with the API's address and a token: admin-access in the node's data directory, by default ${DEFAULT-VALUE}.")
            .build());
    root.addOption(inherited("--address", String.class, "URL", "The address of another machine's node, such as https://node.example:8443; needs --token-file or --as-user."));
    root.addOption(inherited("--ca", Path.class, "FILE", "The certificates, in PEM format, that the node's is verified against; those that the JDK trusts if it is not given."));
    root.addOption(inherited("--token-file", Path.class, "FILE", "A file with the token to sign in with."));
    root.addOption(inherited("--as-user", String.class, "NAME", "The operator to sign in as, with --password-file."));
    root.addOption(inherited("--password-file", Path.class, "FILE", "A file with the operator's password in its first line; - for standard input."));
    root.addOption(
        OptionSpec.builder("-o", "--output")
            .type(Output.class)
            .paramLabel("FORMAT")
            .defaultValue(Output.TABLE.toString())
            .scopeType(CommandLine.ScopeType.INHERIT)
            .description("How answers are shown: ${COMPLETION-CANDIDATES}.")
            .build());
    Map<String, CommandSpec> groups = new HashMap<>();
    for (Endpoint endpoint : Endpoints.ALL) {
      endpoints.put("dunlinctl " + endpoint.command(), endpoint);
      String[] words = endpoint.command().split(" ", -1);
      CommandSpec parent = words.length == 1 ? root : groups.computeIfAbsent(words[0], name -> group(root, name));
      parent.addSubcommand(words[words.length - 1], command(endpoint));
    }
    root.addSubcommand(Top.NAME, Top.command());
    root.addSubcommand(TOKEN, tokenCommand());
    CommandSpec completion = CommandSpec.create().mixinStandardHelpOptions(true);
    completion.usageMessage().description("Prints the completion for bash and zsh: source <(bin/dunlinctl completion).");
    root.addSubcommand(COMPLETION, completion);
    commands = new CommandLine(root);
    commands.setCaseInsensitiveEnumValuesAllowed(true);
    commands.setExecutionStrategy(this::run);
    commands.setOut(new PrintWriter(out, true, StandardCharsets.UTF_8));
    commands.setErr(new PrintWriter(err, true, StandardCharsets.UTF_8));
  }

  /** Runs one command; answers the exit code. */
  static int run(PrintStream out, PrintStream err, Path access, String... arguments) {
    return new Ctl(out, err, access).commands.execute(arguments);
  }

  public static void main(String[] arguments) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    String named = System.getenv("DUNLINCTL_ACCESS");
    String data = Objects.requireNonNullElse(System.getenv("DUNLIN_DATA_DIR"), "data");
    System.exit(run(out, err, named == null ? Path.of(data, AdminTokens.ACCESS_FILE) : Path.of(named), arguments));
  }

  private static OptionSpec inherited(String name, Class<?> type, String label, String description) {
    return OptionSpec.builder(name).type(type).paramLabel(label).scopeType(CommandLine.ScopeType.INHERIT).description(description).build();
  }

  private static CommandSpec group(CommandSpec root, String name) {
    CommandSpec group = CommandSpec.create().mixinStandardHelpOptions(true);
    group.usageMessage().description("Commands on " + name + ".");
    root.addSubcommand(name, group);
    return group;
  }

  private static CommandSpec command(Endpoint endpoint) {
    CommandSpec command = CommandSpec.create().mixinStandardHelpOptions(true);
    command.usageMessage().description(endpoint.summary() + ".", "Needs a token of the role " + endpoint.role().label() + ".");
    int position = 0;
    for (Parameter parameter : endpoint.parameters()) {
      if (endpoint.listing() && parameter.name().equals(Endpoints.CURSOR)) continue;
      if (ExportFile.isOf(endpoint) && ExportFile.gives(parameter)) continue;
      if (parameter.place() == Parameter.Place.PATH) {
        command.addPositional(positional(position++, label(parameter), parameter.description() + ".").build());
      } else {
        command.addOption(option(endpoint, parameter));
      }
    }
    if (ExportFile.isOf(endpoint)) command.addOption(ExportFile.option(endpoint));
    return command;
  }

  private static OptionSpec option(Endpoint endpoint, Parameter parameter) {
    if (parameter.kind().isRead()) {
      return OptionSpec.builder("--" + kebab(parameter.name()) + GivenFile.SUFFIX)
          .required(parameter.required())
          .type(String.class)
          .paramLabel("FILE")
          .description(parameter.description() + ", from a file; " + GivenFile.STANDARD_INPUT + " is the standard input.")
          .build();
    }
    OptionSpec.Builder option = OptionSpec.builder("--" + kebab(parameter.name())).required(parameter.required());
    if (parameter.kind() == Parameter.Kind.FLAG) return option.type(boolean.class).arity("0").description(parameter.description() + ".").build();
    option.type(String.class).paramLabel(label(parameter));
    if (!parameter.choices().isEmpty()) option.completionCandidates(parameter.choices());
    if (endpoint.paged() && parameter.name().equals(Endpoints.LIMIT)) return option.description("The most rows, " + ROWS + " if it is not given.").build();
    String preset = parameter.preset();
    return option.description(parameter.description() + (preset == null ? "." : "; " + preset + " if it is not given.")).build();
  }

  private static CommandSpec tokenCommand() {
    CommandSpec command = CommandSpec.create().mixinStandardHelpOptions(true);
    command.usageMessage().description("Makes a token, and the line for it in the file of dunlin.admin.token-file. Asks no node.");
    command.addPositional(positional(0, "NAME", "Whose token it is.").build());
    command.addPositional(positional(1, "ROLE", "One of " + String.join(", ", ROLES) + ".").completionCandidates(ROLES).build());
    return command;
  }

  private static PositionalParamSpec.Builder positional(int index, String label, String description) {
    return PositionalParamSpec.builder().index(Integer.toString(index)).paramLabel(label).type(String.class).required(true).description(description);
  }

  private static String label(Parameter parameter) {
    return kebab(parameter.name()).toUpperCase(Locale.ROOT);
  }

  private static String kebab(String name) {
    return name.replaceAll("([a-z])([A-Z0-9])", "$1-$2").toLowerCase(Locale.ROOT);
  }

  private int run(ParseResult parsed) {
    Integer help = CommandLine.executeHelpRequest(parsed);
    if (help != null) return help;
    ParseResult last = parsed;
    while (last.hasSubcommand()) last = last.subcommand();
    String name = last.commandSpec().qualifiedName();
    Endpoint endpoint = endpoints.get(name);
    if (endpoint != null) return call(endpoint, last);
    if (name.equals("dunlinctl " + Top.NAME)) return top(last);
    if (name.equals("dunlinctl " + TOKEN)) return token(last);
    if (name.equals("dunlinctl " + COMPLETION)) {
      out.print(AutoComplete.bash("dunlinctl", commands));
      return CommandLine.ExitCode.OK;
    }
    last.commandSpec().commandLine().usage(err);
    return USAGE;
  }

  private int token(ParseResult given) {
    String name = given.matchedPositionalValue(0, "");
    Optional<Role> role = Role.of(given.matchedPositionalValue(1, ""));
    if (role.isEmpty() || !name.matches("[A-Za-z0-9._-]{1,64}")) {
      err.println("dunlinctl: a token has a name of letters, digits, . - and _, and one of the roles " + ROLES);
      return USAGE;
    }
    String token = AdminTokens.create();
    out.println(AdminTokens.line(name, role.get(), token));
    err.println("The token, which is not shown again: " + token);
    return CommandLine.ExitCode.OK;
  }

  private interface Asking {
    int ask(ApiClient client, Output output) throws IOException, ApiClient.RefusedException;
  }

  private int top(ParseResult given) {
    String problem = Top.problem(given);
    if (!problem.isEmpty()) {
      err.println("dunlinctl: " + problem);
      return USAGE;
    }
    return asking(
        given,
        (client, output) -> {
          new Top(client, output, out, isTerminal()).show(given);
          return CommandLine.ExitCode.OK;
        });
  }

  @SuppressWarnings("SystemConsoleNull") // in JDK 25 there is again no console without a terminal
  private static boolean isTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  private int call(Endpoint endpoint, ParseResult given) {
    Map<String, String> values;
    try { // first, since a file that cannot be read is no failure of the node
      values = values(endpoint, given);
    } catch (IOException unread) {
      err.println("dunlinctl: " + unread.getMessage());
      return USAGE;
    }
    return asking(
        given,
        (client, output) -> {
          if (ExportFile.isOf(endpoint)) {
            new ExportFile(endpoint, client, output, out, err).run(endpoint, values, given);
            return CommandLine.ExitCode.OK;
          }
          if (endpoint.stream()) {
            boolean lines = endpoint.equals(Endpoints.FOLLOW_TRACE);
            client.follow(
                endpoint,
                values,
                event -> {
                  if (lines) output.line(event, out);
                  else output.event(event, out);
                });
            return CommandLine.ExitCode.OK;
          }
          if (!endpoint.listing()) {
            output.one(client.call(endpoint, values), out);
            return CommandLine.ExitCode.OK;
          }
          JsonArray rows = list(client, endpoint, values);
          output.rows(rows, Arrays.stream(endpoint.answer().getRecordComponents()).map(RecordComponent::getName).toList(), out);
          return endpoint.equals(Endpoints.DOCTOR) && rows.asList().stream().anyMatch(Ctl::isWrong) ? UNWELL : CommandLine.ExitCode.OK;
        });
  }

  private static boolean isWrong(JsonElement finding) {
    return finding.getAsJsonObject().get("verdict").getAsString().equals("wrong");
  }

  private int asking(ParseResult given, Asking asking) {
    Output output = given.commandSpec().findOption("--output").getValue();
    CommandSpec spec = given.commandSpec();
    try {
      ApiAccess.Named named =
          new ApiAccess.Named(
              spec.findOption("--access").getValue(), spec.findOption("--address").getValue(), spec.findOption("--ca").getValue(),
              spec.findOption("--token-file").getValue(), spec.findOption("--as-user").getValue(), spec.findOption("--password-file").getValue());
      return asking.ask(new ApiClient(ApiAccess.of(named)), output);
    } catch (ApiClient.RefusedException refused) {
      err.println("dunlinctl: " + refused.getMessage());
      return REFUSED;
    } catch (NumberFormatException notOne) {
      err.println("dunlinctl: not a number: " + notOne.getMessage());
      return USAGE;
    } catch (ExportFile.UnusableException unusable) {
      err.println("dunlinctl: " + unusable.getMessage());
      return USAGE;
    } catch (IOException unreached) {
      err.println("dunlinctl: " + unreached.getMessage());
      return UNREACHED;
    }
  }

  private static Map<String, String> values(Endpoint endpoint, ParseResult given) throws IOException {
    Map<String, String> values = new HashMap<>();
    int position = 0;
    for (Parameter parameter : endpoint.parameters()) {
      if (parameter.place() == Parameter.Place.PATH) {
        values.put(parameter.name(), given.matchedPositionalValue(position++, ""));
      } else if (parameter.kind().isRead()) {
        String file = given.matchedOptionValue("--" + kebab(parameter.name()) + GivenFile.SUFFIX, "");
        if (!file.isEmpty()) values.put(parameter.name(), GivenFile.read(file, parameter));
      } else if (given.hasMatchedOption("--" + kebab(parameter.name()))) {
        Object value = given.matchedOptionValue("--" + kebab(parameter.name()), "");
        values.put(parameter.name(), value.toString());
      }
    }
    return values;
  }

  /** The rows of a page. */
  static JsonArray items(JsonObject page) throws IOException {
    JsonElement items = page.get("items");
    if (items == null) throw new IOException("the answer is not a page of a listing");
    return items.getAsJsonArray();
  }

  /** The nodes whose rows are missing. */
  private static List<String> unanswered(JsonObject page) {
    JsonElement sentences = page.get("unanswered");
    return sentences == null ? List.of() : sentences.getAsJsonArray().asList().stream().map(JsonElement::getAsString).toList();
  }

  private void warn(Collection<String> unanswered) {
    for (String sentence : unanswered) err.println("dunlinctl: " + sentence + "; its rows are missing");
  }

  /** Follows the cursors of a listing up to the limit. */
  private JsonArray list(ApiClient client, Endpoint endpoint, Map<String, String> values) throws IOException, ApiClient.RefusedException {
    if (!endpoint.paged()) {
      JsonObject only = client.call(endpoint, values);
      warn(unanswered(only));
      return items(only);
    }
    Set<String> missing = new LinkedHashSet<>();
    int wanted = Integer.parseInt(values.getOrDefault(Endpoints.LIMIT, Integer.toString(ROWS)));
    long pageMax = endpoint.parameters().stream().filter(each -> each.name().equals(Endpoints.LIMIT)).mapToLong(Parameter::max).findFirst().orElse(1);
    JsonArray rows = new JsonArray();
    String next;
    do {
      values.put(Endpoints.LIMIT, Long.toString(Math.min(pageMax, wanted - rows.size())));
      JsonObject page = client.call(endpoint, values);
      JsonElement cursor = page.get("next");
      if (cursor == null) throw new IOException("the answer is not a page of a listing");
      rows.addAll(items(page));
      missing.addAll(unanswered(page));
      next = cursor.getAsString();
      values.put(Endpoints.CURSOR, next);
    } while (!next.isEmpty() && rows.size() < wanted);
    warn(missing);
    if (!next.isEmpty()) err.println("dunlinctl: there may be more than " + wanted + " rows; --limit shows more");
    return rows;
  }
}
