package dunlin;

import dunlin.transport.link.Link;

/** Carries links from one part of a node to another. */
interface Wire extends AutoCloseable {
  /** Accepts links of the dialling side. */
  interface Accepting {
    Link.Handler accept(Link link, byte[] opening);
  }

  /** Opens a link from the dialling side, on that side's thread. */
  Link dial(byte[] opening, Link.Handler handler);

  default Link dial(Link.Handler handler) {
    return dial(new byte[0], handler);
  }

  @Override
  void close();
}
