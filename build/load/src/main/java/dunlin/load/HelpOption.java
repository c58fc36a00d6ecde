package dunlin.load;

import picocli.CommandLine.Option;

/** The option {@code --help}. -h is the host, as in other load test tools. */
abstract class HelpOption {
  @Option(names = "--help", usageHelp = true, description = "Says what there is.")
  void help(boolean asked) {} // picocli handles the option
}
