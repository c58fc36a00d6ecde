/**
 * Authentication of clients: authenticators, the password file, SCRAM, and calls to authenticators of the application.
 */
@NullMarked
package dunlin.broker.auth;

import org.jspecify.annotations.NullMarked;
