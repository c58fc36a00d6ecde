package dunlin.chaos.mqtt;

/** A message, by who published it and with which of its numbers; a will has its connection's. */
record MessageId(String publisher, long number) {
  @Override
  public String toString() {
    return publisher + " " + number;
  }
}
