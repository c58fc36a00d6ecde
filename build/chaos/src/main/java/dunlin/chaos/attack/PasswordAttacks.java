package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Attacks by guessing passwords. */
final class PasswordAttacks {
  /*
   * Each address stays below the broker's limit of failures, so that all guesses are checked.
   */
  private static final int ADDRESSES = 64;
  private static final int USERS = 100;
  private static final int PERIOD_MILLIS = 50;
  private static final int GUESS_MILLIS = 200;
  private static final Duration LOGIN_MAX = Duration.ofMillis(50);
  private static final String PASSWORD = "right";

  /** A verifier as written by {@code bin/dunlin passwd}; the password of each user is {@link #PASSWORD}. */
  private static final String VERIFIER =
      "SCRAM-SHA-256$4096:ZhAw4qAJaTjYTiclCHWFvA==$L70+Spa1C+ujyCFdR6EfnCPCcB0dvq+F4QlYJYRlUA4=:adTcqw/Gh1OBD8WyWRDq5IBZqVCfbikhdl9Zibk1pJw=";

  static final List<Attack> ALL =
      List.of(
          new Attack(
              "wrong-passwords", "64 addresses guess passwords five times a second each, while 100 users log in again and again", Attack.START_MAX, passwords(), "",
              PasswordAttacks::guesses));

  private PasswordAttacks() {}

  private static String passwords() {
    return IntStream.range(0, USERS)
        .mapToObj(user -> "user-" + user + ":" + VERIFIER + "\n")
        .collect(Collectors.joining("", ":SALTS$cQrn4y88ng5XZIxaAI1X/uONsvZRHeN1bQ+EvldIQ5s=\n", ""));
  }

  private static void guesses(Assault assault) throws InterruptedException {
    for (int user = 0; user < USERS; user++) login(assault, user);
    var logins = new ArrayList<Duration>();
    Assault.inParallel(
        ADDRESSES + 1,
        number -> {
          if (number == ADDRESSES) logIn(assault, logins);
          else guess(assault, "127.0.1." + (number + 1), "user-" + number);
        });
    logins.sort(null);
    var p99 = Neighbour.percentile(logins, 99);
    assault.figure("p99 of %,d logins %.1f ms".formatted(logins.size(), p99.toNanos() / 1e6));
    if (p99.compareTo(LOGIN_MAX) > 0) assault.problem("the p99 of logins rose to %d ms".formatted(p99.toMillis()));
  }

  private static void guess(Assault assault, String address, String user) throws InterruptedException {
    for (int i = 0; !assault.over(); i++) {
      try (var attacker = Attacker.openFrom(address, assault.port(), Manner.POLITE)) {
        assault.answered("let in", attacker.connect("guess-" + address, user, "wrong-" + i));
      }
      Thread.sleep(GUESS_MILLIS);
    }
  }

  private static void logIn(Assault assault, List<Duration> logins) throws InterruptedException {
    for (int i = 0; !assault.over(); i++) {
      logins.add(login(assault, i % USERS));
      Thread.sleep(PERIOD_MILLIS);
    }
  }

  /** The time from opening the socket to the CONNACK. */
  private static Duration login(Assault assault, int user) {
    long began = System.nanoTime();
    try (var client = Attacker.openFrom("127.0.2.1", assault.port(), Manner.POLITE)) {
      int reason = client.connect("login-" + user, "user-" + user, PASSWORD);
      if (reason != 0) assault.problem("a right password was refused with %d".formatted(reason));
    }
    return Duration.ofNanos(System.nanoTime() - began);
  }
}
