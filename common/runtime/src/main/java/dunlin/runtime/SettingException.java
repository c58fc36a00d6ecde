package dunlin.runtime;

/** Why a node does not start: one sentence that names the key, where it was set and what it may be. */
public final class SettingException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** One sentence that names the key, where it was set, and what would be right. */
  public SettingException(String sentence) {
    super(sentence);
  }

  public SettingException(String sentence, Throwable cause) {
    super(sentence, cause);
  }
}
