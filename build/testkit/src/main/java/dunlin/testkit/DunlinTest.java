package dunlin.testkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Starts a broker, or a cluster, for a test class of JUnit, and closes it afterwards.
 *
 * <p>Parameters of test methods, and of methods that run before and after them, are filled in by their type:
 *
 * <ul>
 *   <li>{@link DunlinCluster}: the cluster, also of one broker
 *   <li>{@link dunlin.Dunlin}: a broker, for publish and subscribe in process
 *   <li>{@link java.net.URI}: its address for clients, such as {@code tcp://127.0.0.1:17233}
 *   <li>{@code int} with {@link OnNode}: its port for clients
 *   <li>{@link BrokerEvents}: what the brokers report from the beginning of the test, or of the class, on
 *   <li>{@link TestClients}: makes clients with a given identifier
 *   <li>a type of a {@link ClientFactory}: a connected client, which is closed after the test
 * </ul>
 *
 * A broker, an address, a port and a client are those of node 0, unless {@link OnNode} says otherwise. Constructors and {@code @BeforeAll} methods may have
 * such parameters too when there is one broker for the class.
 *
 * <p>A test that fails has the events of the brokers since its beginning as a suppressed exception. Classes may run in parallel. Methods of one class that do
 * share its broker and its events.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(DunlinExtension.class)
public @interface DunlinTest {
  /** The number of brokers, 1 to 7; several are a cluster. */
  int nodes() default 1;

  /** Settings of all brokers, each as {@code dunlin.key=value}. */
  String[] settings() default {};

  /** How long a broker lives. */
  Scope scope() default Scope.CLASS;

  /** What there is one broker, or one cluster, for. */
  enum Scope {
    /** One for the class and those nested in it. */
    CLASS,
    /** One for each test method, with empty data. */
    METHOD
  }
}
