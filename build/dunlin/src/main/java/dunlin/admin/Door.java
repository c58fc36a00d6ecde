package dunlin.admin;

import java.net.InetAddress;

/**
 * Where a request has come in.
 *
 * @param remote whether by the TLS port
 * @param client whose request it is; of loopback, all clients are one
 * @param site the names under which the node may be asked there
 */
record Door(boolean remote, InetAddress client, SameSite site) {
  static final Door LOOPBACK = new Door(false, InetAddress.getLoopbackAddress(), SameSite.onLoopback());
}
