package dunlin.load;

import picocli.CommandLine.Option;

/** {@code --help}; -h is the host, as with other load tests. */
abstract class HelpOption {
  @Option(names = "--help", usageHelp = true, description = "Says what there is.")
  void help(boolean asked) {} // that it was given is enough
}
