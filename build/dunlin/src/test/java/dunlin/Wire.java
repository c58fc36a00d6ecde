package dunlin;

import dunlin.transport.link.Link;

/** Carries the links from one part of a node to another. */
interface Wire extends AutoCloseable {
  /** What takes the frames of a link that is dialled. */
  interface Accepting {
    Link.Handler accept(Link link, byte[] opening);
  }

  /** A link of the side that dials, on its thread. */
  Link dial(byte[] opening, Link.Handler handler);

  default Link dial(Link.Handler handler) {
    return dial(new byte[0], handler);
  }

  @Override
  void close();
}
