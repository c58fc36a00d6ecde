/**
 * Brokers for tests of MQTT clients: one, or a cluster, in the JVM of the test, with faults by call ({@link dunlin.testkit.DunlinCluster}), and an
 * extension of JUnit that starts them ({@link dunlin.testkit.DunlinTest}).
 *
 * <p>The caller that starts a cluster owns it and closes it; the extension does so for its own. Closing a cluster stops its brokers, closes its relays and deletes
 * its directory. What fails while it is closed is thrown once everything else is closed. There is no static state, so that tests of one JVM may run in parallel.
 */
@NullMarked
package dunlin.testkit;

import org.jspecify.annotations.NullMarked;
