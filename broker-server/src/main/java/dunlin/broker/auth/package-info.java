/** Who a client is: authenticators, the password file, SCRAM, and the calls to code that the application brings. */
@NullMarked
package dunlin.broker.auth;

import org.jspecify.annotations.NullMarked;
