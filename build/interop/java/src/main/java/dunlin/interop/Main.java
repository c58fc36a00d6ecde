package dunlin.interop;

import java.util.Map;

/** Runs the scenario: {@code Main CLIENT HOST PORT VERSION TRANSPORT}, with {@code paho-java} or {@code hivemq} as the client. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    String client = arguments[0];
    String host = arguments[1];
    int port = Integer.parseInt(arguments[2]);
    String version = arguments[3];
    boolean webSocket = arguments[4].equals("ws");

    Scenario.Connector connector =
        options -> {
          Relay relay = new Relay(host, port);
          if (client.equals("hivemq")) {
            return version.equals("5") ? new HiveV5(relay, webSocket, options) : new HiveV3(relay, webSocket, options);
          }
          String address = (webSocket ? "ws://127.0.0.1:%d/mqtt" : "tcp://127.0.0.1:%d").formatted(relay.port());
          return version.equals("5") ? new PahoV5(relay, address, options) : new PahoV3(relay, address, version, options);
        };
    for (Map.Entry<String, Scenario.Step> step : new Scenario(connector, client, version).steps().entrySet()) {
      try {
        step.getValue().run();
      } catch (Exception e) {
        System.err.println("failed " + step.getKey() + ": " + e);
        System.exit(1);
      }
      System.out.println("ok " + step.getKey());
    }
    System.exit(0); // the clients keep threads
  }
}
