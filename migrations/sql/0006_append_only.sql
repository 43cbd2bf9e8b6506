-- A journal is append-only (checklist 42). Nobody changes an event. Only the retention role deletes, only under
-- the tombstone, and only whole investigations. The role is taken on purpose (`set local role`): a superuser has
-- it without asking, and must not delete by accident.

do $$
begin
  if not exists (select from pg_roles r where r.rolname = 'inquest_retention') then
    create role inquest_retention nologin;
  end if;
  execute format('grant inquest_retention to %I', current_user);
exception
  -- Another database of this server makes the role at the same moment: it is there now.
  when duplicate_object or unique_violation then
    execute format('grant inquest_retention to %I', current_user);
  -- A user who may not make roles: journals cannot be deleted until the operator does both.
  when insufficient_privilege then
    raise notice 'deleting journals needs: create role inquest_retention nologin; grant inquest_retention to %',
      current_user;
end $$;

do $$
begin
  if exists (select from pg_roles r where r.rolname = 'inquest_retention') then
    grant usage on schema inquest to inquest_retention;
    grant select on investigation to inquest_retention;
    grant select, delete on event, content, content_ref, effect, interrupt, delivery, delivery_target
      to inquest_retention;
  end if;
end $$;

create function refuse_event_change() returns trigger language plpgsql set search_path = inquest, pg_temp as $$
begin
  raise exception 'a journal is append-only: % refused', tg_op using errcode = 'IQI01';
end $$;

create function check_event_delete() returns trigger language plpgsql set search_path = inquest, pg_temp as $$
begin
  if current_user <> 'inquest_retention' then
    raise exception 'a journal is append-only: DELETE refused to %', current_user using errcode = 'IQI01';
  end if;
  return null;
end $$;

create function check_event_deleted_whole() returns trigger language plpgsql set search_path = inquest, pg_temp as $$
begin
  if exists (
    select from gone g join investigation i using (investigation_id) where i.status <> 'deleting'
  ) then
    raise exception 'events are deleted under a tombstone only' using errcode = 'IQI01';
  elsif exists (select from gone g join event e using (investigation_id)) then
    raise exception 'the events of an investigation are deleted together' using errcode = 'IQI01';
  end if;
  return null;
end $$;

-- Statement triggers: TRUNCATE has no other, and a statement that would change no row is refused as well.
create trigger event_is_never_changed before update or truncate on event
  for each statement execute function refuse_event_change();
create trigger event_is_kept before delete on event
  for each statement execute function check_event_delete();
create trigger event_is_deleted_whole after delete on event
  referencing old table as gone
  for each statement execute function check_event_deleted_whole();
