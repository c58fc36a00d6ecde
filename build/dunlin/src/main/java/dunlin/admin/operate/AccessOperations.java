package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.BanView;
import dunlin.admin.api.ApiAnswers.Changed;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.broker.access.AccessAction;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.tenant.TenantsMXBean.TenantRow;
import dunlin.broker.users.AccessMXBean;
import dunlin.broker.users.AccessMXBean.BanRow;
import dunlin.broker.users.AccessMXBean.RoleRow;
import dunlin.broker.users.AccessMXBean.UserRow;
import dunlin.broker.users.BanKind;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Does what the endpoints of users, roles, bans and tenants say. Each node that has the setting does it for the whole cluster. */
final class AccessOperations {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Failure: that of the bean. A row that is not there is a 404.
   */
  private static final String TENANT = "tenant";

  private final Supplier<AccessMXBean> bean;

  private AccessOperations(Supplier<AccessMXBean> bean) {
    this.bean = bean;
  }

  /**
   * Adds an action for each of the endpoints.
   *
   * @param bean throws a Problem when the node has none
   */
  static void add(Supplier<AccessMXBean> bean, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    var added = new AccessOperations(bean);
    added.users(to);
    added.roles(to);
    added.bans(to);
  }

  /**
   * Adds an action for each of the endpoints of tenants.
   *
   * @param tenants throws a Problem when the node has none
   */
  static void addTenants(Supplier<TenantsMXBean> tenants, BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(Endpoints.TENANTS, given -> AdminOperations.full(tenants.get().tenants(Cursor.read(given), given.number("limit")), TenantRow::name, given));
    to.accept(Endpoints.GET_TENANT, given -> one(tenants.get().tenant(given.text(TENANT)), TENANT));
    to.accept(Endpoints.PUT_TENANT, given -> changed(TENANT, () -> tenants.get().putTenant(given.text(TENANT), given.text("limits"), version(given))));
    to.accept(Endpoints.SUSPEND_TENANT, given -> changed(TENANT, () -> tenants.get().suspendTenant(given.text(TENANT), version(given))));
    to.accept(Endpoints.RESUME_TENANT, given -> changed(TENANT, () -> tenants.get().resumeTenant(given.text(TENANT), version(given))));
    to.accept(Endpoints.DELETE_TENANT, given -> changed(TENANT, () -> tenants.get().deleteTenant(given.text(TENANT), version(given))));
  }

  private static long version(Arguments given) {
    return given.longNumber("expectedVersion");
  }

  private void users(BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(Endpoints.USERS, given -> AdminOperations.full(bean.get().users(Cursor.read(given), given.number("limit")), UserRow::name, given));
    to.accept(Endpoints.USER, given -> one(bean.get().user(given.text("user")), "user"));
    to.accept(
        Endpoints.PUT_USER,
        given ->
            changed(
                "user", () -> bean.get().putUser(given.text("user"), given.text("password"), given.text("roles"), !given.flag("disabled"), version(given))));
    to.accept(Endpoints.DELETE_USER, given -> changed("user", () -> bean.get().deleteUser(given.text("user"), version(given))));
  }

  private void roles(BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(Endpoints.ROLES, given -> AdminOperations.full(bean.get().roles(Cursor.read(given), given.number("limit")), RoleRow::name, given));
    to.accept(Endpoints.ROLE, given -> one(bean.get().role(given.text("role")), "role"));
    to.accept(Endpoints.PUT_ROLE, given -> changed("role", () -> bean.get().putRole(given.text("role"), given.text("rules"), version(given))));
    to.accept(
        Endpoints.CHECK_ACCESS,
        given ->
            bean.get()
                .check(
                    AccessAction.of(given.text("action")), given.text("topic"), given.text("user"), given.text("client"), given.text(TENANT), given.number("qos"),
                    given.flag("retain")));
    to.accept(Endpoints.DELETE_ROLE, given -> changed("role", () -> bean.get().deleteRole(given.text("role"), version(given))));
  }

  private void bans(BiConsumer<Endpoint, Function<Arguments, Object>> to) {
    to.accept(
        Endpoints.BANS,
        given -> {
          List<BanRow> rows = bean.get().bans(kind(given), Cursor.read(given), given.number("limit"));
          return AdminOperations.full(rows.stream().map(AccessOperations::shown).toList(), BanView::value, given);
        });
    to.accept(Endpoints.BAN, given -> shown(one(bean.get().ban(kind(given), given.text("value")), "ban")));
    to.accept(
        Endpoints.PUT_BAN,
        given ->
            changed(
                "ban",
                () -> bean.get().putBan(kind(given), given.text("value"), given.longNumber("seconds"), given.text("reason"), version(given))));
    to.accept(Endpoints.DELETE_BAN, given -> changed("ban", () -> bean.get().deleteBan(kind(given), given.text("value"), version(given))));
  }

  private static BanKind kind(Arguments given) {
    return BanKind.of(given.text("kind"));
  }

  private static BanView shown(BanRow row) {
    return new BanView(row.kind().label(), row.value(), row.until(), row.reason(), row.version());
  }

  private static <T> T one(List<T> found, String what) {
    if (found.isEmpty()) throw none(what);
    return found.getFirst();
  }

  private static Changed changed(String what, Supplier<Long> change) {
    try {
      return new Changed(change.get());
    } catch (NoSuchElementException _) {
      throw none(what);
    }
  }

  private static Problem none(String what) {
    return new Problem(404, "There is no such " + what + ".");
  }
}
