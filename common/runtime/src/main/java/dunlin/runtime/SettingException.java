package dunlin.runtime;

/** A wrong setting, which prevents the start: one sentence that names the key, where it was set and what is allowed. */
public final class SettingException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** @param sentence names the key, where it was set, and what is allowed */
  public SettingException(String sentence) {
    super(sentence);
  }

  public SettingException(String sentence, Throwable cause) {
    super(sentence, cause);
  }
}
