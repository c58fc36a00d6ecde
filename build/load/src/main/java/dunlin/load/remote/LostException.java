package dunlin.load.remote;

/** The peer is gone, or breaks the protocol. The message is a predicate that follows the peer's name. */
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
