package dunlin.transport.link;

/** A dialler is refused; the message is a sentence for its operator, and is sent to the dialler. */
public final class LinkRefusedException extends RuntimeException {
  public LinkRefusedException(String sentence) {
    super(sentence);
  }
}
