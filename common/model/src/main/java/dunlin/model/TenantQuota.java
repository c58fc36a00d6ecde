package dunlin.model;

/** One limit of tenants, as a store sees it that counts what they have. Any thread; must be quick, since it may be asked for each message. */
public interface TenantQuota {
  /** What a tenant may have that is not limited. */
  long NONE = Long.MAX_VALUE;

  /** No tenant is limited. */
  TenantQuota UNLIMITED =
      new TenantQuota() {
        @Override
        public long max(String tenant) {
          return NONE;
        }

        @Override
        public void reached(String tenant) {}
      };

  /** The most that a tenant may have; {@link #NONE} when it is not limited. */
  long max(String tenant);

  /** Notes that something was refused to a tenant, or dropped, because of this limit. */
  void reached(String tenant);
}
