package dunlin.load.plan;

/** The identity of a client, which templates use. */
public record Who(int number, String clientId, String user) {}
