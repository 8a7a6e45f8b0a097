/** Statements that restore the schema as it was with one administrator, before migration 35. */
export const oneAdministrator = `
  drop function basalt.storage_sealed(text, text);
  delete from basalt.schedules where job_type in ('function_deploy_cleanup', 'inbound_message_retention');
  drop table basalt.caller_permit_leases;
  drop function basalt.lease_caller_permits(uuid, text, int, float8, int, int, float8, jsonb);
  drop table basalt.function_live, basalt.function_files, basalt.function_blobs, basalt.function_deploys;
  drop index basalt.requests_functions;
  alter table basalt.sql_job_types drop column deploy;
  alter table basalt.jobs drop column deploy;
  drop function basalt.app_metadata(), basalt.set_app_metadata(uuid, jsonb);
  alter table basalt.users drop column app_metadata;
  alter table basalt.webhooks drop column function_name;
  drop function basalt.accept_inbound_sealed(text, text);
  drop table basalt.inbound_messages;
  alter table basalt.schedules drop column is_of_function;
  drop function basalt.enqueue_sealed(text, text), basalt.broadcast_sealed(text, text);
  drop table basalt.job_seal;
  alter table basalt.jobs drop column queued_by;
  drop table basalt.administrator_provider_sign_ins, basalt.administrator_identities, basalt.administrator_challenges,
    basalt.administrator_pending_sign_ins, basalt.administrator_backup_codes, basalt.administrator_passkeys,
    basalt.administrator_totp;
  drop trigger administrators_password_changed on basalt.administrators;
  drop function basalt.has_second_factor(uuid), basalt.end_pending_sign_ins_of_administrator();
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
    drop column allowed_addresses, drop column last_used_at, drop column address, drop column user_agent,
    drop column second_factor_at, drop column passes_step_up, drop column is_multi_factor;
  alter table basalt.admin_sign_in_codes drop column administrator_id, drop column purpose;
  alter table basalt.saved_queries drop column administrator_id;
  drop table basalt.administrators;
  drop function basalt.first_administrator(), basalt.end_sessions_of_administrator(),
    basalt.delete_settings_of_administrator();
  alter table basalt.audit drop column administrator;
  delete from basalt.settings where key like 'dashboard_preferences %' or key like 'sql_tabs %'`
