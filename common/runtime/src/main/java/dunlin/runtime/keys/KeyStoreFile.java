package dunlin.runtime.keys;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.UnrecoverableKeyException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The private key and certificates of a server in a key store in PKCS#12, which must have exactly one key.
 *
 * @param chain the certificate of the key first, then its intermediate certificates
 */
public record KeyStoreFile(PrivateKey key, List<X509Certificate> chain) {
  public KeyStoreFile {
    chain = List.copyOf(chain);
  }

  /** @param password of the store and of its key; empty for none */
  public static KeyStoreFile read(byte[] file, String password) throws GeneralSecurityException, IOException {
    char[] opens = password.toCharArray();
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      load(store, file, opens);
      List<String> keys = new ArrayList<>();
      for (String alias : Collections.list(store.aliases())) if (store.isKeyEntry(alias)) keys.add(alias);
      if (keys.size() != 1) throw new GeneralSecurityException("it has %d keys, not one".formatted(keys.size()));
      if (!(store.getKey(keys.getFirst(), opens) instanceof PrivateKey key)) throw new GeneralSecurityException("its key is not a private key");
      List<X509Certificate> chain = Arrays.stream(store.getCertificateChain(keys.getFirst())).map(X509Certificate.class::cast).toList();
      PemFiles.checkPair(key, chain.getFirst().getPublicKey());
      return new KeyStoreFile(key, chain);
    } finally {
      Arrays.fill(opens, '\0');
    }
  }

  private static void load(KeyStore store, byte[] file, char[] password) throws GeneralSecurityException, IOException {
    try {
      store.load(new ByteArrayInputStream(file), password);
    } catch (IOException e) {
      if (e.getCause() instanceof UnrecoverableKeyException) throw new GeneralSecurityException("the password is wrong", e);
      throw new IOException("it is not a key store in PKCS#12, or damaged", e);
    } catch (RuntimeException e) { // some damaged files reach a decoder's checks
      throw new IOException("it is not a key store in PKCS#12, or damaged", e);
    }
  }
}
