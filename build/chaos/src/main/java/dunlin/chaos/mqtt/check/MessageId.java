package dunlin.chaos.mqtt.check;

/** The identity of a message: its publisher and its number; a will has the number of its connection. */
public record MessageId(String publisher, long number) {
  @Override
  public String toString() {
    return publisher + " " + number;
  }
}
