/** Statements that restore the schema as it was with one administrator, before migration 35. */
export const oneAdministrator = `
  drop view basalt.admin;
  create table basalt.admin (
    is_only bool primary key default true check (is_only),
    password_hash text not null,
    updated_at timestamptz not null default now()
  );
  insert into basalt.admin (password_hash) select password_hash from basalt.administrators where is_first;
  create trigger admin_password_replaced after update of password_hash on basalt.admin
    for each row when (old.password_hash is distinct from new.password_hash)
    execute function basalt.end_derived_of_administrators();
  alter table basalt.admin_sessions drop column administrator_id, drop column role, drop column name,
    drop column allowed_addresses, drop column last_used_at, drop column address, drop column user_agent;
  alter table basalt.admin_sign_in_codes drop column administrator_id, drop column purpose;
  alter table basalt.saved_queries drop column administrator_id;
  drop table basalt.administrators;
  drop function basalt.first_administrator(), basalt.end_sessions_of_administrator(),
    basalt.delete_settings_of_administrator();
  alter table basalt.audit drop column administrator;
  delete from basalt.settings where key like 'dashboard_preferences %' or key like 'sql_tabs %'`
