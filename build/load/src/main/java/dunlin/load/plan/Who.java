package dunlin.load.plan;

/** The client that a template is filled in for. */
public record Who(int number, String clientId, String user) {}
