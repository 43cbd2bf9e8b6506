-- Delete (ADR 0016): first the tombstone, a write from no owner after which the investigation is gone for every
-- reader; then the purge, by the retention role, which leaves nothing of its text. `store/actions.py` calls both,
-- and the sweep purges what could not be purged at once.

alter table investigation add column purged_at timestamptz; -- of a tombstone: nothing of its text is left
create index investigation_unpurged on investigation (investigation_id) where status = 'deleting' and purged_at is null;
-- Which investigations share a content: asked for each one that a purge gives up.
create index content_ref_of_content on content_ref (workspace, digest);

do $$
begin
  if exists (select from pg_roles r where r.rolname = 'inquest_retention') then
    grant select, delete on thread_root, receipt_body to inquest_retention;
  end if;
end $$;

create function can_purge() returns boolean
language sql stable set search_path = inquest, pg_temp as $$
  select exists (select from pg_roles r where r.rolname = 'inquest_retention' and pg_has_role(r.oid, 'member'))
$$;

-- Puts the tombstone, and gives what stays where it was sent: [{destination, reference}]. What was not sent is not
-- sent any more; a send that is under way loses its fence, and its target goes with the purge once it must be over.
create function bury_investigation(p_workspace text, p_investigation text) returns jsonb
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
begin
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.workspace = p_workspace for update;
  if a.status = 'deleting' and a.purged_at is null then
    return what_stays(p_investigation); -- asked again: whoever asked may have had no answer, and the purge may have failed
  end if;
  perform check_is_there(a, p_investigation);
  if a.status not in ('succeeded', 'failed', 'cancelled') then
    raise exception 'it is %: cancel it first', a.status using errcode = 'IQS01';
  elsif not can_purge() then
    raise exception 'this database has no retention role: '
      'create role inquest_retention nologin; grant inquest_retention to %', current_user using errcode = 'IQR01';
  end if;
  update investigation i
  set status = 'deleting', generation = a.generation + 1, title = '', service = '', verdict = '', defer_reason = '',
      origin = '{}'  -- the digest of what a client called it stays: asked for again, it is not begun again
  where i.investigation_id = p_investigation;
  perform from delivery_target t where t.investigation_id = p_investigation order by t.target_id for update;
  update delivery d set state = 'superseded'
  from delivery_target t
  where t.investigation_id = p_investigation and d.target_id = t.target_id and d.state = 'planned';
  update delivery_target t set generation = t.generation + 1, owner_id = null, again_at = null
  where t.investigation_id = p_investigation;
  perform fence_moved(p_investigation);
  return what_stays(p_investigation);
end $$;

-- Everything that was sent of an investigation: a message once, however often it was edited, of a folder each revision.
create function what_stays(p_investigation text) returns jsonb
language sql stable set search_path = inquest, pg_temp as $$
  select coalesce(
    jsonb_agg(jsonb_build_object('destination', s.destination, 'reference', s.reference)
      order by s.destination, s.revision), '[]')
  from (
    select t.destination, d.reference, min(d.revision) as revision
    from delivery_target t join delivery d on d.target_id = t.target_id
    where t.investigation_id = p_investigation and d.reference is not null
    group by t.destination, d.reference
  ) s
$$;

-- Takes everything under a tombstone away, and gives whether it is gone: not while a send may still be under way.
-- What others share stays until they are deleted, too: contents, the posts that it came with, the alerts of its
-- episode. May be called again at any time. The group's row is held, as by whoever takes alerts in.
create function purge_investigation(p_investigation text) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  digests text[];
  before text := current_setting('role');
begin
  perform from alert_group g
  join episode e on e.workspace = g.workspace and e.group_key = g.group_key
  join investigation i on i.episode_id = e.episode_id
  where i.investigation_id = p_investigation for no key update of g;
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.status = 'deleting' and i.purged_at is null for update;
  if not found then
    return true;
  end if;
  digests := array(
    select r.digest from content_ref r where r.investigation_id = p_investigation order by r.digest collate "C");
  -- Before the targets, as a sender does; nobody comes to refer to one meanwhile.
  perform from content c where c.workspace = a.workspace and c.digest = any (digests)
  order by c.digest collate "C" for update;
  perform from delivery_target t where t.investigation_id = p_investigation order by t.target_id for update;
  if exists (
    select from delivery_target t join delivery x on x.target_id = t.target_id
    where t.investigation_id = p_investigation and x.state = 'reserved' and x.send_deadline > clock_timestamp())
  then
    return false;
  end if;
  perform set_config('role', 'inquest_retention', true);
  delete from delivery x using delivery_target t
  where t.investigation_id = p_investigation and x.target_id = t.target_id;
  delete from thread_root r using delivery_target t
  where t.investigation_id = p_investigation and r.target_id = t.target_id and r.reference is null;
  delete from delivery_target t where t.investigation_id = p_investigation;
  delete from interrupt q where q.investigation_id = p_investigation;
  delete from effect e where e.investigation_id = p_investigation;
  delete from event e where e.investigation_id = p_investigation;
  delete from content_ref r where r.investigation_id = p_investigation;
  delete from content c
  where c.workspace = a.workspace and c.digest = any (digests)
    and not exists (select from content_ref r where r.workspace = c.workspace and r.digest = c.digest);
  perform set_config('role', before, true);
  if not exists (select from investigation i where i.episode_id = a.episode_id and i.status <> 'deleting') then
    perform forget_episode(a);
  end if;
  update investigation i set purged_at = clock_timestamp() where i.investigation_id = p_investigation;
  return true;
end $$;

-- Takes away what the senders told of an episode whose investigations are all deleted. The rows of its alerts stay:
-- by them its repeats are known. Their text comes back only with a new post. A post's bytes stay while it brought
-- alerts of an episode that is not forgotten.
create function forget_episode(a investigation) returns void
language plpgsql as $$
declare
  e episode;
  digests text[];
  before text := current_setting('role');
begin
  update episode x set sender = '{}' where x.episode_id = a.episode_id returning x.* into e;
  update alert x set name = '', labels = '{}', body = '' where x.episode_id = a.episode_id;
  perform set_config('role', 'inquest_retention', true);
  delete from thread_root r where r.episode_id = a.episode_id;
  perform set_config('role', before, true);
  digests := array(
    select distinct r.body_digest from intake_receipt r
    where r.workspace = a.workspace and r.received_at >= e.opened_at - interval '1 hour'
      and r.investigation_ids && array(
        select i.investigation_id from investigation i where i.episode_id = a.episode_id));
  perform remove_bodies(a.workspace, digests, true);
end $$;

-- Removes bytes of posts that no post needs any more: none has them, or (`p_forget`) none that has them brought an episode
-- that is not forgotten; the same bytes may have come to another intake, and are stored once. First held, then looked at
-- anew: a post that comes meanwhile holds them too, and its row is seen.
create function remove_bodies(p_workspace text, p_digests text[], p_forget boolean) returns int
language plpgsql as $$
declare
  removed int;
begin
  perform from receipt_body b where b.workspace = p_workspace and b.digest = any (p_digests)
  order by b.digest collate "C" for update;
  delete from receipt_body b
  where b.workspace = p_workspace and b.digest = any (p_digests) and not exists (
    select from intake_receipt r
    where r.workspace = p_workspace and r.body_digest = b.digest and (not p_forget or is_remembered(r)));
  get diagnostics removed = row_count;
  return removed;
end $$;

create function is_remembered(r intake_receipt) returns boolean
language sql stable as $$
  select exists (
    select from unnest(r.investigation_ids) as named (id)
    join investigation i on i.investigation_id = named.id
    join investigation o on o.episode_id = i.episode_id and o.status <> 'deleting')
$$;
