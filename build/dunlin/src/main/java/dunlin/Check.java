package dunlin;

import dunlin.node.AdminKeys;
import dunlin.node.ClusterKeys;
import dunlin.node.NodeSettings;
import dunlin.broker.Frontend;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.listen.AdminFront;
import dunlin.broker.listen.ListenerException;
import dunlin.broker.listen.ListenerKeys;
import dunlin.broker.loop.FrontendSettings;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** {@code bin/dunlin check}: lists everything that would prevent a start, without starting a node. */
final class Check {
  /*
   * A part whose settings cannot be read is not checked: with default settings it would be another part. While a node
   * uses the data directory its ports are in use, so they are not checked either.
   */
  private static final int WRONG = 1;

  private final Settings settings;
  private final Set<String> wrongKeys;
  private final List<String> problems = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  private Check(Settings.Inspected read) {
    settings = read.settings();
    wrongKeys = read.wrongKeys();
    problems.addAll(read.problems());
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    Check check = of(Settings.inspectProcess(NodeSettings.ALL));
    check.notes.forEach(note -> out.println("dunlin check: note: " + note));
    check.problems.forEach(problem -> err.println("dunlin check: " + problem));
    if (!check.problems.isEmpty()) System.exit(WRONG);
    out.println("dunlin check: no problems found");
  }

  static Check of(Settings.Inspected read) {
    Check check = new Check(read);
    check.look();
    return check;
  }

  List<String> problems() {
    return problems;
  }

  List<String> notes() {
    return notes;
  }

  private void look() {
    problems.addAll(NodeSettings.problems(settings));
    boolean ports = true;
    if (readable("dunlin.data-dir")) {
      Path data = settings.get(NodeSettings.DATA_DIR);
      find(() -> RangeStore.check(data));
      if (RangeStore.inUse(data)) {
        ports = false;
        notes.add("a node uses the data directory %s now, so ports are not checked".formatted(data.toAbsolutePath().normalize()));
      }
    }
    if (readable("dunlin.roles")) {
      if (NodeSettings.hasFrontend(settings)) broker(ports);
      if (readable("dunlin.cluster.") && NodeSettings.isInCluster(settings)) cluster(ports);
    }
    if (ports && readable("dunlin.admin.") && settings.isSet(NodeSettings.ADMIN_PORT)) {
      free(NodeSettings.ADMIN_PORT, new InetSocketAddress(InetAddress.getLoopbackAddress(), port(NodeSettings.ADMIN_PORT)));
    }
    if (readable("dunlin.admin.") && AdminKeys.opened(settings) && AdminKeys.hasKeys(settings)) {
      find(() -> AdminFront.check(AdminKeys.address(settings), AdminKeys.keys(settings)));
      if (ports) find(() -> free(AdminKeys.PORT, AdminKeys.address(settings)));
    }
    if (ports && readable("dunlin.health.")) {
      free(NodeSettings.HEALTH_PORT, new InetSocketAddress(settings.get(NodeSettings.HEALTH_HOST), port(NodeSettings.HEALTH_PORT)));
    }
  }

  private void broker(boolean ports) {
    if (!readable("dunlin.auth.")) return;
    AuthenticationSettings authentication = AuthenticationSettings.from(settings);
    find(() -> Authentication.check(authentication));
    find(() -> Authentication.checkProvider(authentication));
    boolean anywhere = Authentication.mayListenAnywhere(authentication, Authenticators.none());
    if (readable("dunlin.listeners.") && readable("dunlin.io.") && readable("dunlin.tls.")) {
      find(() -> problems.addAll(Frontend.problems(FrontendSettings.from(settings, ListenerKeys.read(settings)), anywhere, ports)));
    }
  }

  private void cluster(boolean ports) {
    find(() -> ClusterKeys.member(settings));
    find(() -> ClusterKeys.tls(settings));
    if (!ports) return;
    if (NodeSettings.hasStore(settings)) free(ClusterKeys.PORT, new InetSocketAddress(settings.get(ClusterKeys.BIND), ClusterKeys.raftPort(settings)));
    free(ClusterKeys.SERVICE_PORT, ClusterKeys.serviceAddress(settings));
  }

  /** Whether all settings with this prefix could be read. */
  private boolean readable(String beginning) {
    return wrongKeys.stream().noneMatch(key -> key.startsWith(beginning));
  }

  private int port(Setting<Integer> setting) {
    return Math.max(0, settings.get(setting));
  }

  private void find(Runnable step) {
    try {
      step.run();
    } catch (SettingException | StoreException | ListenerException | IllegalArgumentException problem) {
      String sentence = String.valueOf(problem.getMessage());
      if (!problems.contains(sentence)) problems.add(sentence);
    }
  }

  private void free(Setting<Integer> setting, InetSocketAddress address) {
    if (address.getPort() == 0) return;
    try (ServerSocket probe = new ServerSocket()) {
      probe.setReuseAddress(true);
      probe.bind(address);
    } catch (IOException e) {
      problems.add("%s: cannot listen on %s:%d: %s".formatted(setting.key(), address.getHostString(), address.getPort(), e.getMessage()));
    }
  }
}
