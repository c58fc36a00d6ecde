package dunlin.load.remote;

/** The other side has gone, or says what it must not. It says why in words that follow a name. */
final class LostException extends Exception {
  private static final long serialVersionUID = 1;

  private final String why;

  LostException(String why) {
    super(why);
    this.why = why;
  }

  String why() {
    return why;
  }
}
